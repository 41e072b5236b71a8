#include "core/base/short_names.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/base/format.h"

namespace instr {

namespace {

constexpr const char* kCut = "…";
constexpr std::size_t kMinTail = 4;  // columns; less of a common end says nothing

// A part of a name may begin or end at this character: not within "heads=16".
bool begins_part(char c) { return c == '/' || c == ' '; }

// Bytes that all of them begin with, up to the end of a part.
std::size_t common_start(const std::vector<std::string>& names) {
  std::size_t same = common_prefix(names);
  while (same > 0 && !begins_part(names.front()[same - 1])) --same;
  return same;
}

// Bytes that all of them end with, from the beginning of a part, and behind `start`.
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
  while (same > 0 && !begins_part(first[first.size() - same])) --same;
  return same;
}

// The last `width` columns of a text, at least one.
std::string end_of(const std::string& text, std::size_t width) {
  if (display_width(text) <= width) return text;
  const std::string cut = shorten_middle(text, 2 * width - 1);
  return cut.substr(std::min(cut.find(kCut), cut.size()));
}

// Different names, each of more than `width` columns, by what tells them apart.
std::vector<std::string> told_apart(const std::vector<std::string>& names, std::size_t width) {
  const std::size_t start = common_start(names);
  const std::size_t end = common_end(names, start);
  const std::size_t cuts = (start > 0 ? 1 : 0) + (end > 0 ? 1 : 0);
  if (cuts == 0 || width <= cuts) {
    std::vector<std::string> cut;
    for (const std::string& name : names) cut.push_back(shorten_middle(name, width));
    return cut;
  }
  std::vector<std::string> own;
  for (const std::string& name : names) {
    own.push_back(name.substr(start, name.size() - start - end));
  }
  own = shorten_apart(own, width - cuts);
  std::vector<std::string> shortened;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::size_t left = width - display_width(own[i]);
    std::string tail = names[i].substr(names[i].size() - end);
    if (!tail.empty()) tail = end_of(tail, left / 2 < kMinTail ? 1 : left / 2);
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
    const auto texts = equal.size() == 1 ? std::vector{text} : told_apart(equal, width);
    for (std::size_t i = 0; i < equal.size(); ++i) shorts[equal[i]] = texts[i];
  }
  std::vector<std::string> out;
  for (const std::string& name : names) out.push_back(shorts[name]);
  return out;
}

}  // namespace instr
