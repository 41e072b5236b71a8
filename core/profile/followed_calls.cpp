#include "core/profile/followed_calls.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "core/base/json_line.h"

namespace instr {

namespace {

using Json = nlohmann::ordered_json;
using Place = std::function<std::string(const std::string&, int)>;

CodeName parse_code(const Json& code, const Place& place) {
  if (code.is_null()) return {kSnippetName, ""};
  return {code.at("name"), place(code.at("file"), code.at("line"))};
}

std::vector<FollowedFunction> read(const Json& json, double iterations, double loop,
                                   const Place& place) {
  std::vector<FollowedFunction> functions;
  for (const Json& function : json.at("functions")) {
    const auto per_iteration = [&](const char* name) {
      return function.at(name).get<double>() / iterations;
    };
    const bool is_statement = functions.empty();
    const double around = is_statement ? loop : 0;
    functions.push_back({parse_code(function.at("code"), place),
                         per_iteration("self") - around,
                         per_iteration("calls"),
                         {per_iteration("inclusive") - around, function.at("recursive"), {}}});
  }
  for (const Json& call : json.at("calls")) {
    const auto [caller, callee, ir, calls] =
        call.get<std::tuple<std::size_t, std::size_t, double, double>>();
    if (caller == callee) continue;  // a recursive function is not its own caller
    functions.at(callee).cost.callers.push_back(
        {functions.at(caller).code, ir / iterations, calls / iterations});
  }
  for (FollowedFunction& function : functions) {
    auto& callers = function.cost.callers;
    std::stable_sort(callers.begin(), callers.end(),
                     [](const Caller& left, const Caller& right) { return left.ir > right.ir; });
  }
  return functions;
}

}  // namespace

std::vector<FollowedFunction> followed_calls(std::string_view text, std::uint64_t iterations,
                                             double loop, const Place& place) {
  const auto json = parse_json(text);
  if (!json || !json->is_object() || iterations == 0) return {};
  try {
    return read(*json, static_cast<double>(iterations), loop, place);
  } catch (const std::exception&) {  // thrown by Json, or for an unknown function
    return {};
  }
}

}  // namespace instr
