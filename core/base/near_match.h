// The known words nearest to an unknown one, for "did you mean ...?".
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

namespace instr {

// ASCII letters only.
std::string lower_case(std::string_view text);

// Insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b`, in bytes
// (each stretch of text is edited once: "optimal string alignment").
std::size_t edit_distance(std::string_view a, std::string_view b);

// At most `count` of the known words, nearest first; letter case does not count. A known word with
// slashes (a label, a key) is also near if one of its parts is. None if nothing is near.
std::vector<std::string> near_matches(std::string_view word, const std::vector<std::string>& known,
                                      std::size_t count);

// The nearest of the known words; nothing if none is near.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& known);

// Advice: "did you mean `label`?", or "known: `a`, `b`" if no word is near; of many words the
// first ones and how many more there are.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

// Advice: "did you mean `eval`? it takes eval, train", or its second half if none is near.
std::string what_it_takes(std::string_view word, const std::vector<std::string>& known);

// The meaning of a word, or that advice.
template <class T>
tl::expected<T, std::string> meaning_of(const std::string& word,
                                        const std::vector<std::pair<std::string, T>>& known) {
  std::vector<std::string> words;
  for (const auto& [name, meaning] : known) {
    if (name == word) return meaning;
    words.push_back(name);
  }
  return tl::unexpected(what_it_takes(word, words));
}

}  // namespace instr
