#include "core/profile/line_costs.h"

#include <map>
#include <utility>

#include "core/profile/function_names.h"

namespace instr {

namespace {

struct Sum {
  std::uint64_t self = 0;
  std::uint64_t outermost = 0;  // the part of it in calls without recursion
  std::uint64_t called = 0;     // the cost of what these calls called
  std::optional<CodeName> caller = {};
  bool has_callers = false;  // more than one
};

void add(Sum& sum, const ProfileLine& line, const ProfileFunction& function) {
  sum.self += line.self;
  if (is_recursion(function.function)) return;
  sum.outermost += line.self;
  if (line.called == 0) return;
  sum.called += line.called;
  CodeName code = code_name(function.function, function.library());
  sum.has_callers = sum.has_callers || (sum.caller && *sum.caller != code);
  sum.caller = std::move(code);
}

}  // namespace

LineCosts line_costs(const Profile& profile, std::uint64_t iterations) {
  std::map<std::pair<std::string, int>, Sum> sums;
  for (const ProfileLine& line : profile.lines) {
    const std::string& file = profile.files[line.file];
    if (file.empty() || line.line == 0) continue;
    add(sums[{file, line.line}], line, profile.functions[line.function]);
  }
  LineCosts costs{iterations, {}};
  for (const auto& [place, sum] : sums) {
    if (sum.self == 0 && sum.called == 0) continue;
    LineCost& line = costs.lines.emplace_back(
        LineCost{place.first, place.second, static_cast<std::int64_t>(sum.self), {}});
    if (!sum.has_callers) line.inclusive = static_cast<std::int64_t>(sum.outermost + sum.called);
  }
  return costs;
}

}  // namespace instr
