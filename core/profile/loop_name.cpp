#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/profile/function_names.h"
#include "core/profile/profile.h"

namespace instr {

namespace {

// The function at the end of a path, which is called by none; "" of no path.
std::string_view root_of(std::string_view path) { return path.substr(path.rfind('\'') + 1); }

// The function, called by none, that has the greatest cost with all that it called; "" if none has.
std::string greatest_root(const std::vector<ProfileFunction>& functions) {
  std::unordered_map<std::string_view, std::uint64_t> totals;
  for (const ProfileFunction& one : functions) {
    totals[one.path.empty() ? std::string_view(one.function) : root_of(one.path)] += one.self[0];
  }
  std::string greatest;
  std::uint64_t max = 0;
  for (const ProfileFunction& one : functions) {
    if (!one.path.empty() || totals[one.function] <= max) continue;
    max = totals[one.function];
    greatest = one.function;
  }
  return greatest;
}

}  // namespace

void name_loop(std::vector<ProfileFunction>& functions) {
  const std::string wrong = greatest_root(functions);
  if (wrong.empty() || runs_loop(wrong)) return;
  for (ProfileFunction& one : functions) {
    const bool is_root = one.path.empty() && one.function == wrong;
    if (!is_root && root_of(one.path) != wrong) continue;
    if (!is_root) {
      one.path.replace(one.path.size() - wrong.size(), wrong.size(), kInterpreterLoop);
    }
    // One call of it fewer is under way, and one of the loop more.
    CallLevel call = call_level(one.function);
    if (is_root) {
      call = {kInterpreterLoop};
    } else if (call.function == wrong && call.level > 1) {
      --call.level;
    } else if (call.function == kInterpreterLoop) {
      ++call.level;
    }
    one.function = at_level(call);
  }
}

}  // namespace instr
