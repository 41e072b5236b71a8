#include "core/base/json_line.h"

#include <nlohmann/json.hpp>
#include <string>

namespace instr {

namespace {

using Json = nlohmann::ordered_json;

// Deeper values would overflow the stack when they are copied or printed.
constexpr int kMaxDepth = 100;

}  // namespace

Expected<Json> parse_json(std::string_view text) {
  bool is_too_deep = false;
  const auto check_depth = [&](int depth, Json::parse_event_t, const Json&) {
    is_too_deep = is_too_deep || depth > kMaxDepth;
    return !is_too_deep;
  };
  Json json = Json::parse(text.begin(), text.end(), check_depth, false);
  if (is_too_deep) {
    return fail("a value in this line is nested more than " + std::to_string(kMaxDepth) + " deep");
  }
  if (json.is_discarded()) return fail("this line is not JSON");
  return json;
}

}  // namespace instr
