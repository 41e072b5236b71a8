#include "core/base/json_line.h"

#include <nlohmann/json.hpp>
#include <vector>

namespace instr {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostMembers = 256;  // far beyond what is ever written

}  // namespace

Expected<Json> parse_json(std::string_view text) {
  std::vector<std::size_t> members;  // of the open objects
  bool is_too_many = false;
  auto count = [&](int, Json::parse_event_t event, const Json&) {
    if (is_too_many) return false;
    if (event == Json::parse_event_t::object_start) members.push_back(0);
    if (event == Json::parse_event_t::object_end) members.pop_back();
    if (event == Json::parse_event_t::key) is_too_many = ++members.back() > kMostMembers;
    return !is_too_many;
  };
  Json json = Json::parse(text.begin(), text.end(), count, false);
  if (is_too_many) return fail("an object in this line has more than 256 members");
  if (json.is_discarded()) return fail("this line is not JSON");
  return json;
}

}  // namespace instr
