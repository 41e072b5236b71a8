#include "core/commands/cli/options.h"
#include "core/commands/cli/values.h"

namespace instr {

namespace {

// "instructions=0.5%|+100". The last limit of a metric applies.
Take take_limits(std::map<std::string, Limit>& limits) {
  return [&limits](const Given& given) -> Expected<void> {
    TRY_ASSIGN(const auto parsed, parse_limits(given.value));
    for (const auto& [metric, limit] : parsed) limits[metric] = limit;
    return {};
  };
}

void declare_limits(CommandLine& line, GateOptions& gate) {
  line.option(
      "--limit", "LIMITS",
      "by how much a metric may grow before the check fails, such as instructions=0.5%|+200 or "
      "allocs=+0; repeatable (default: instructions=0.5%, allocs=+0, alloc_bytes=0.5%, "
      "peak_bytes=0.5%)",
      take_limits(gate.compare.limits.hard));
  line.option(
      "--soft-limit", "LIMITS",
      "by how much before it warns (default: instructions=0.1%, alloc_bytes=+0, peak_bytes=+0)",
      take_limits(gate.compare.limits.soft));
  line.option("--limits", "FILE", "limits by patterns of keys (TOML)", take_path(gate.limits_file));
  line.option("--base-limits", "FILE",
              "that file as of the base: it applies to each key that the base has",
              take_path(gate.base_limits_file));
  line.needs(
      {"base-limits"}, [&gate] { return gate.limits_file.has_value(); }, "--limits");
}

// A condition that a comparison tolerates on request, and fails on by default.
struct Permission {
  const char* name;
  const char* help;
  bool CompareOptions::*allows;
};
constexpr Permission kPermissions[] = {
    {"allow-missing", "benchmarks may be missing", &CompareOptions::allow_missing},
    {"allow-failed", "benchmarks may fail", &CompareOptions::allow_failed},
    {"allow-not-comparable", "a metric may be missing, a count need not be steady",
     &CompareOptions::allow_not_comparable},
    {"allow-nothing", "there may be nothing to compare", &CompareOptions::allow_nothing}};

}  // namespace

void declare_incomplete(CommandLine& line, Incomplete& incomplete, const std::string& help) {
  line.flag("--allow-incomplete", help, [&incomplete](bool is_given) {
    incomplete = is_given ? Incomplete::kAllowed : Incomplete::kRefused;
  });
}

void declare_vary(CommandLine& line, std::vector<std::string>& vary) {
  line.option("--vary", "LIST",
              "what may differ between the two sides: libtorch, compiler, valgrind, cpu, worker, "
              "libraries, or a field of the fingerprint",
              add_items(vary));
}

void declare_accepted(CommandLine& line, std::optional<fs::path>& accepted) {
  line.option("--accepted", "FILE",
              "the changes that were accepted (default: .instr_bench/accepted.csv of the project)",
              take_path(accepted));
}

void declare_gate(CommandLine& line, GateOptions& gate, bool& show_same) {
  declare_limits(line, gate);
  declare_accepted(line, gate.accepted);
  declare_vary(line, gate.vary);
  line.flag("--show-same", "also rows without a difference", show_same);
  line.option(
      "--top", "N", "calls and functions that explain a change (5 and 10; JSON: all)",
      [&gate](const Given& given) -> Expected<void> {
        int max = 0;
        TRY(take_number(max, 1)(given));
        gate.compare.attribution = {static_cast<std::size_t>(max), static_cast<std::size_t>(max)};
        return {};
      });
  for (const Permission& permission : kPermissions) {
    line.flag(std::string("--") + permission.name, permission.help,
              gate.compare.*permission.allows);
  }
  declare_incomplete(line, gate.incomplete, "results may be from a run that did not finish");
  line.flag("--ratchet", "gains beyond a limit fail, too, until they are accepted",
            gate.compare.has_ratchet);
  line.flag("--forbid-new", "benchmarks that have no baseline fail",
            [&gate](bool is_given) { gate.compare.allow_new = !is_given; });
}

const std::vector<std::string>& gate_options() {
  static const std::vector<std::string> names = [] {
    GateOptions unused;
    bool show_same = false;
    CommandLine line("");
    declare_gate(line, unused, show_same);
    std::vector<std::string> declared;
    for (const OptionInfo& option : line.options()) declared.push_back(option.name);
    return declared;
  }();
  return names;
}

std::vector<std::string> limited_metrics(const GateOptions& gate) {
  std::vector<std::string> metrics;
  for (const auto* limits : {&gate.compare.limits.hard, &gate.compare.limits.soft}) {
    for (const auto& [metric, limit] : *limits) metrics.push_back(metric);
  }
  return metrics;
}

}  // namespace instr
