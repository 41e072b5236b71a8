#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/profile/function_names.h"
#include "core/profile/profile.h"

namespace instr {

namespace {

// Returns the function at the end of a path, which has no caller; "" without a path.
std::string_view root_of(std::string_view path) { return path.substr(path.rfind('\'') + 1); }

// Returns the function without caller that has the greatest inclusive cost; "" if all are 0.
std::string greatest_root(const std::vector<ProfileFunction>& functions) {
  std::unordered_map<std::string_view, std::uint64_t> totals;
  for (const ProfileFunction& function : functions) {
    totals[function.path.empty() ? std::string_view(function.function) : root_of(function.path)] +=
        function.self[0];
  }
  std::string greatest;
  std::uint64_t max = 0;
  for (const ProfileFunction& function : functions) {
    if (!function.path.empty() || totals[function.function] <= max) continue;
    max = totals[function.function];
    greatest = function.function;
  }
  return greatest;
}

}  // namespace

void name_loop(std::vector<ProfileFunction>& functions) {
  const std::string wrong = greatest_root(functions);
  if (wrong.empty() || runs_loop(wrong)) return;
  for (ProfileFunction& function : functions) {
    const bool is_root = function.path.empty() && function.function == wrong;
    if (!is_root && root_of(function.path) != wrong) continue;
    if (!is_root) {
      function.path.replace(function.path.size() - wrong.size(), wrong.size(), kInterpreterLoop);
    }
    // A call of the function fewer is active, and a call of the loop more.
    CallLevel call = call_level(function.function);
    if (is_root) {
      call = {kInterpreterLoop};
    } else if (call.function == wrong && call.level > 1) {
      --call.level;
    } else if (call.function == kInterpreterLoop) {
      ++call.level;
    }
    function.function = at_level(call);
  }
}

}  // namespace instr
