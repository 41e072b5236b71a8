#include "core/base/near_match.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace instr {
namespace {

// Longer words are not compared: nobody mistypes them, and the cost grows with the square.
constexpr std::size_t kMaxWordLength = 200;
// Words that begin alike are near even if much is missing ("global" for "global_setup").
constexpr std::size_t kMinPrefix = 3;
// At most so many known words are listed.
constexpr std::size_t kMaxKnown = 40;
constexpr std::size_t kFar = std::numeric_limits<std::size_t>::max();

// How far `word` is from `known`; kFar if they are not near each other. Both in lower case.
std::size_t distance(std::string_view word, std::string_view known) {
  if (word.empty() || known.empty()) return kFar;
  const std::size_t shorter = std::min(word.size(), known.size());
  const std::size_t longer = std::max(word.size(), known.size());
  if (longer > kMaxWordLength) return kFar;
  const std::size_t far_from = std::max<std::size_t>(1, longer / 3);
  if (longer - shorter <= far_from) {
    const std::size_t edits = edit_distance(word, known);
    if (edits <= far_from && edits < shorter) return edits;
  }
  const bool prefix = known.substr(0, shorter) == word.substr(0, shorter);
  return prefix && shorter >= kMinPrefix ? longer - shorter : kFar;
}

std::size_t distance_with_parts(std::string_view word, std::string_view known) {
  std::size_t best = distance(word, known);
  for (std::size_t begin = 0; known.find('/') != std::string_view::npos;) {
    const std::size_t end = std::min(known.find('/', begin), known.size());
    const std::size_t part = distance(word, known.substr(begin, end - begin));
    // A part counts as slightly farther than a whole word that differs as much.
    if (part != kFar) best = std::min(best, part + 1);
    if (end == known.size()) break;
    begin = end + 1;
  }
  return best;
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitution = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, substitution});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::vector<std::string> near_matches(std::string_view word, const std::vector<std::string>& known,
                                      std::size_t count) {
  const std::string lower_word = lower_case(word);
  std::vector<std::pair<std::size_t, const std::string*>> found;
  for (const std::string& candidate : known) {
    const std::size_t far = distance_with_parts(lower_word, lower_case(candidate));
    if (far != kFar) found.emplace_back(far, &candidate);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> result;
  for (const auto& [far, candidate] : found) {
    if (result.size() == count) break;
    if (std::find(result.begin(), result.end(), *candidate) == result.end()) {
      result.push_back(*candidate);
    }
  }
  return result;
}

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& known) {
  std::vector<std::string> found = near_matches(word, known, 1);
  if (found.empty()) return std::nullopt;
  return std::move(found.front());
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  if (const auto near = nearest(word, known)) return "did you mean `" + *near + "`?";
  std::string text;
  for (std::size_t i = 0; i < std::min(known.size(), kMaxKnown); ++i) {
    text += (i == 0 ? "known: `" : ", `") + known[i] + "`";
  }
  if (known.size() <= kMaxKnown) return text;
  return text + " and " + std::to_string(known.size() - kMaxKnown) + " more";
}

std::string what_it_takes(std::string_view word, const std::vector<std::string>& known) {
  auto near = nearest(word, known);
  std::string advice = near ? "did you mean `" + *near + "`? it takes" : "it takes";
  for (const std::string& one : known) advice += (&one == &known.front() ? " " : ", ") + one;
  return advice;
}

}  // namespace instr
