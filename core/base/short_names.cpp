#include "core/base/short_names.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/base/format.h"

namespace instr {

namespace {

constexpr const char* kCut = "…";
constexpr std::size_t kMinTail = 4;  // columns; a shorter common end tells nothing

// Parts of a name are never cut within, as in "heads=16".
bool is_separator(char c) { return c == '/' || c == ' '; }

// The bytes that all names begin with, up to the end of a part.
std::size_t common_start(const std::vector<std::string>& names) {
  std::size_t same = common_prefix(names);
  while (same > 0 && !is_separator(names.front()[same - 1])) --same;
  return same;
}

// The bytes behind `start` that all names end with, from the beginning of a part.
std::size_t common_end(const std::vector<std::string>& names, std::size_t start) {
  const std::string& first = names.front();
  std::size_t same = first.size() - start;
  for (const std::string& name : names) {
    std::size_t count = 0;
    while (count < std::min(same, name.size() - start) &&
           first[first.size() - 1 - count] == name[name.size() - 1 - count]) {
      ++count;
    }
    same = count;
  }
  while (same > 0 && !is_separator(first[first.size() - same])) --same;
  return same;
}

// Keeps the last `width` columns of a text, at least one column.
std::string shorten_start(const std::string& text, std::size_t width) {
  if (display_width(text) <= width) return text;
  const std::string cut = shorten_middle(text, 2 * width - 1);
  return cut.substr(std::min(cut.find(kCut), cut.size()));
}

// Shortens names, each longer than `width` columns, to the parts in which they differ.
std::vector<std::string> distinguished(const std::vector<std::string>& names, std::size_t width) {
  const std::size_t start = common_start(names);
  const std::size_t end = common_end(names, start);
  const std::size_t cuts = (start > 0 ? 1 : 0) + (end > 0 ? 1 : 0);
  std::vector<std::string> own;
  if (cuts == 0 || width <= cuts) {
    for (const std::string& name : names) own.push_back(shorten_middle(name, width));
    return own;
  }
  for (const std::string& name : names) {
    own.push_back(name.substr(start, name.size() - start - end));
  }
  own = shorten_apart(own, width - cuts);
  std::vector<std::string> shortened;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::size_t left = width - display_width(own[i]);
    std::string tail = names[i].substr(names[i].size() - end);
    if (!tail.empty()) tail = shorten_start(tail, left / 2 < kMinTail ? 1 : left / 2);
    std::string head = names[i].substr(0, start);
    if (!head.empty()) head = shorten_end(head, left - display_width(tail));
    shortened.push_back(head + own[i] + tail);
  }
  return shortened;
}

}  // namespace

std::size_t common_prefix(const std::vector<std::string>& texts) {
  const std::string& first = texts.front();
  std::size_t same = first.size();
  for (const std::string& text : texts) {
    const auto end = std::mismatch(first.begin(), first.end(), text.begin(), text.end()).first;
    same = std::min(same, static_cast<std::size_t>(end - first.begin()));
  }
  return same;
}

std::vector<std::string> shorten_apart(const std::vector<std::string>& names, std::size_t width) {
  std::map<std::string, std::set<std::string>> by_short;
  for (const std::string& name : names) by_short[shorten_middle(name, width)].insert(name);
  std::map<std::string, std::string> shorts;
  for (const auto& [text, same] : by_short) {
    const std::vector<std::string> equal(same.begin(), same.end());
    const auto texts = equal.size() == 1 ? std::vector{text} : distinguished(equal, width);
    for (std::size_t i = 0; i < equal.size(); ++i) shorts[equal[i]] = texts[i];
  }
  std::vector<std::string> out;
  for (const std::string& name : names) out.push_back(shorts[name]);
  return out;
}

}  // namespace instr
