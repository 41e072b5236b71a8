#include "core/base/yaml.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "core/base/text.h"

namespace instr {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kMaxYamlDepth = 32;

struct YamlLine {
  std::size_t indent;
  std::string text;  // the content, trimmed, without a comment
};

std::vector<YamlLine> read_yaml_lines(const std::string& text) {
  std::vector<YamlLine> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    const std::size_t comment = line.starts_with('#') ? 0 : line.find(" #");
    if (comment != std::string::npos) line.resize(comment);
    const std::string_view content = trim(line, " \t\r");
    if (content.empty() || content == "---") continue;
    lines.push_back({line.find_first_not_of(' '), std::string(content)});
  }
  return lines;
}

bool is_yaml_item(const std::string& text) { return text == "-" || text.starts_with("- "); }

// Returns the end of a key, at its colon.
std::size_t find_key_end(const std::string& text) {
  const std::size_t colon = text.find(": ");
  if (colon != std::string::npos) return colon;
  return text.ends_with(':') ? text.size() - 1 : std::string::npos;
}

class YamlParser {
 public:
  explicit YamlParser(std::vector<YamlLine> lines) : lines_(std::move(lines)) {}

  Json parse() { return lines_.empty() ? Json() : parse_block(lines_.front().indent); }

 private:
  bool is_at(std::size_t indent) const {
    return at_ < lines_.size() && lines_[at_].indent == indent;
  }

  // Parses the lines with this indentation, and those indented further.
  Json parse_block(std::size_t indent) {
    ++depth_;
    Json value;
    if (depth_ > kMaxYamlDepth) {
      at_ = lines_.size();
    } else if (is_yaml_item(lines_[at_].text)) {
      value = parse_list(indent);
    } else if (find_key_end(lines_[at_].text) != std::string::npos) {
      value = parse_map(indent);
    } else {
      value = parse_scalar(lines_[at_++].text);
    }
    --depth_;
    return value;
  }

  Json parse_list(std::size_t indent) {
    Json list = Json::array();
    while (is_at(indent) && is_yaml_item(lines_[at_].text)) {
      const std::string rest = lines_[at_].text.substr(1);
      const std::size_t blanks = rest.find_first_not_of(' ');
      if (blanks == std::string::npos) {
        ++at_;
        list.push_back(parse_below(indent));
      } else {  // what follows the dash begins a block
        lines_[at_] = {indent + 1 + blanks, rest.substr(blanks)};
        list.push_back(parse_block(lines_[at_].indent));
      }
      skip_deeper(indent);
    }
    return list;
  }

  Json parse_map(std::size_t indent) {
    Json map = Json::object();
    while (is_at(indent) && !is_yaml_item(lines_[at_].text)) {
      const std::string text = lines_[at_++].text;
      const std::size_t end = find_key_end(text);
      if (end == std::string::npos) continue;
      std::string_view rest = trim(std::string_view(text).substr(end + 1));
      std::string anchor;
      if (rest.starts_with('&')) {
        const std::size_t length = std::min(rest.find(' '), rest.size());
        anchor = rest.substr(1, length - 1);
        rest = trim(rest.substr(length));
      }
      Json value =
          rest.empty() ? parse_below(indent, /*takes_list=*/true) : parse_scalar(std::string(rest));
      if (!anchor.empty()) anchors_[anchor] = value;
      map[unquote(text.substr(0, end))] = std::move(value);
      skip_deeper(indent);
    }
    return map;
  }

  // Parses the block below a line with this indentation; null if there is none. A list may have the
  // indentation of its key.
  Json parse_below(std::size_t indent, bool takes_list = false) {
    if (at_ == lines_.size()) return {};
    const YamlLine& next = lines_[at_];
    const bool is_below =
        next.indent > indent || (takes_list && next.indent == indent && is_yaml_item(next.text));
    return is_below ? parse_block(next.indent) : Json();
  }

  void skip_deeper(std::size_t indent) {
    while (at_ < lines_.size() && lines_[at_].indent > indent) ++at_;
  }

  Json parse_scalar(const std::string& text) const {
    if (text == "[]") return Json::array();
    if (text == "{}") return Json::object();
    if (!text.starts_with('*')) return unquote(text);
    const auto anchor = anchors_.find(text.substr(1));
    return anchor == anchors_.end() ? Json() : anchor->second;
  }

  static std::string unquote(const std::string& text) {
    const bool is_quoted = text.size() >= 2 && text.front() == text.back() &&
                           (text.front() == '"' || text.front() == '\'');
    return is_quoted ? text.substr(1, text.size() - 2) : text;
  }

  std::vector<YamlLine> lines_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::map<std::string, Json> anchors_;
};

}  // namespace

Json parse_simple_yaml(const std::string& text) {
  return YamlParser(read_yaml_lines(text)).parse();
}

}  // namespace instr
