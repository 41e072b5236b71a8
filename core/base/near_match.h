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

// Converts ASCII letters to lower case.
std::string lower_case(std::string_view text);

// Counts the insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b`,
// in bytes (each stretch of text is edited once: "optimal string alignment").
std::size_t edit_distance(std::string_view a, std::string_view b);

// Finds at most `count` of the known words that are near, nearest first; letter case does not
// count. A known word with slashes (a label, a key) is also near if one of its parts is.
std::vector<std::string> near_matches(std::string_view word, const std::vector<std::string>& known,
                                      std::size_t count);

// Finds the nearest of the known words; nothing if no word is near.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& known);

// Advice: "did you mean `label`?", or "known: `a`, `b`" if no word is near; a long list is cut,
// with the number of words left out.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

// Advice: "did you mean `eval`? it takes eval, train", or the second half if no word is near.
std::string suggest_value(std::string_view word, const std::vector<std::string>& known);

// Finds the meaning of a word; the error is the advice above.
template <class T>
tl::expected<T, std::string> find_meaning(const std::string& word,
                                          const std::vector<std::pair<std::string, T>>& known) {
  std::vector<std::string> words;
  for (const auto& [name, meaning] : known) {
    if (name == word) return meaning;
    words.push_back(name);
  }
  return tl::unexpected(suggest_value(word, words));
}

}  // namespace instr
