#include "core/base/near_match.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace instr {
namespace {

// Longer words are not compared, since the cost grows with the square of the length.
constexpr std::size_t kMaxWordLength = 200;
// Words that begin alike are near even if much is missing ("global" for "global_setup").
constexpr std::size_t kMinPrefix = 3;
constexpr std::size_t kMaxListed = 40;  // known words
constexpr std::size_t kFar = std::numeric_limits<std::size_t>::max();

// The distance of two words in lower case; kFar if they are not near each other.
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
  const bool have_prefix = known.substr(0, shorter) == word.substr(0, shorter);
  return have_prefix && shorter >= kMinPrefix ? longer - shorter : kFar;
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
  std::vector<std::pair<std::size_t, const std::string*>> near;
  for (const std::string& candidate : known) {
    const std::size_t far = distance_with_parts(lower_word, lower_case(candidate));
    if (far != kFar) near.emplace_back(far, &candidate);
  }
  std::ranges::stable_sort(near, {}, [](const auto& match) { return match.first; });
  std::vector<std::string> result;
  for (const auto& [far, candidate] : near) {
    if (result.size() == count) break;
    if (std::ranges::find(result, *candidate) == result.end()) result.push_back(*candidate);
  }
  return result;
}

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& known) {
  std::vector<std::string> matches = near_matches(word, known, 1);
  if (matches.empty()) return std::nullopt;
  return std::move(matches.front());
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  if (const auto near = nearest(word, known)) return "did you mean `" + *near + "`?";
  if (known.empty()) return "";
  const std::size_t listed = std::min(known.size(), kMaxListed);
  const auto text =
      fmt::format("known: `{}`", fmt::join(known.begin(), known.begin() + listed, "`, `"));
  if (listed == known.size()) return text;
  return fmt::format("{} and {} more", text, known.size() - listed);
}

std::string suggest_value(std::string_view word, const std::vector<std::string>& known) {
  const auto near = nearest(word, known);
  return fmt::format("{}it takes {}", near ? "did you mean `" + *near + "`? " : "",
                     fmt::join(known, ", "));
}

}  // namespace instr
