#include "core/report/page.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "core/base/content_hash.h"

namespace instr {

namespace {

struct Part {
  std::string_view name;
  std::string_view text;
};

// A library is longer than the length of a literal that every compiler must accept.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverlength-strings"
constexpr Part kParts[] = {
#include "page_parts.inc"
};
#pragma GCC diagnostic pop

std::string_view part(std::string_view name) {
  const auto* it =
      std::find_if(std::begin(kParts), std::end(kParts),
                   [name](const Part& part_of_page) { return part_of_page.name == name; });
  if (it == std::end(kParts)) throw std::logic_error("no such part: " + std::string(name));
  return it->text;
}

std::string json_in_page(const nlohmann::ordered_json& json) {
  constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;
  std::string text;
  for (const char c : json.dump(-1, ' ', false, kReplace)) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

std::string page(std::string_view file, const nlohmann::ordered_json& data) {
  const std::string text = json_in_page(data);
  std::string page;
  std::string_view left = part(file);
  for (std::size_t begin = left.find("{{"); begin != left.npos; begin = left.find("{{")) {
    const std::size_t end = left.find("}}", begin);
    const std::string_view name = left.substr(begin + 2, end - begin - 2);
    page += left.substr(0, begin);
    if (name == "data") {
      page += text;
    } else {
      page += name == "nonce" ? content_hash(text) : part(name);
    }
    left.remove_prefix(end + 2);
  }
  return page += left;
}

}  // namespace instr
