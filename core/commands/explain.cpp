#include "core/report/explain.h"

#include <unistd.h>

#include <algorithm>

#include "core/base/format.h"
#include "core/base/near_match.h"
#include "core/base/output.h"
#include "core/base/terminal.h"
#include "core/commands/commands.h"
#include "core/results/baselines.h"
#include "core/run/pipeline.h"

namespace instr {

namespace {

constexpr std::size_t kMostNear = 3;  // keys that are offered for one that is not there

Error no_such_key(const std::string& key, const std::vector<std::string>& known) {
  std::vector<std::string> near = near_matches(key, known, kMostNear);
  std::string advice = near.empty() ? "`instr_bench list` shows the keys" : "did you mean";
  for (const std::string& one : near) {
    advice += (&one == &near.front() ? " `" : " or `") + printable(one) + "`";
  }
  return {{},
          "there is no benchmark with the key `" + printable(key) + "`",
          advice + (near.empty() ? "" : "?")};
}

// Exactly that key: a person copies it from a table.
tl::expected<std::vector<Variant>, Errors> plan_one(Options options) {
  const std::string& key = options.operands[0];
  auto variants = plan(options);
  if (!variants) return variants;
  std::vector<std::string> keys;
  for (const Variant& variant : *variants) keys.push_back(variant.key);
  std::erase_if(*variants, [&key](const Variant& variant) { return variant.key != key; });
  if (variants->empty()) return tl::unexpected(Errors{no_such_key(key, keys)});
  return variants;
}

Expected<Measurement> measured(const Options& options, const std::vector<std::string>& command,
                               const std::vector<Variant>& variants, std::stop_token stop) {
  Progress progress(progress_options(options));
  progress.expect(variants.size());
  Recorder recorder(std::nullopt, [](const Error&) {});
  auto finished = measure_all(options, command, variants, progress, recorder, stop);
  progress.finish();
  if (!finished) return tl::unexpected(finished.error());
  auto measurements = recorder.in_order_of(variants);
  if (measurements.empty()) return fail("interrupted");
  return measurements.front();
}

Expected<Measurement> stored(const std::string& key, const std::string& name_or_file,
                             Incomplete incomplete) {
  auto file = find_baseline(name_or_file);
  if (!file) return tl::unexpected(file.error());
  auto set = read_result_set(*file, name_or_file, incomplete);
  if (!set) return tl::unexpected(set.error());
  std::vector<std::string> keys;
  for (Measurement& one : set->results.measurements) {
    keys.push_back(one.variant.key);
    if (one.variant.key != key) continue;
    auto functions = set->functions(key);
    if (!functions) return tl::unexpected(functions.error());
    if (auto* counted = std::get_if<Counted>(&one.outcome)) counted->functions = *functions;
    return std::move(one);
  }
  return tl::unexpected(no_such_key(key, keys));
}

ExitStatus show(const Options& options, const Measurement& measurement) {
  const auto* counted = std::get_if<Counted>(&measurement.outcome);
  if (counted == nullptr) {
    print_output(report(ReportFormat::kTable, {measurement}, report_options(options)));
    return std::holds_alternative<Skipped>(measurement.outcome) ? kGood : kNotMeasured;
  }
  Terminal terminal = inspect_terminal(STDOUT_FILENO, options.color);
  ExplainOptions shown;
  shown.most_functions = static_cast<std::size_t>(options.top);
  shown.width = terminal.width;
  shown.color = terminal.color;
  print_output(explain_text(measurement.variant.key, *counted, shown));
  return kGood;
}

}  // namespace

ExitStatus explain_command(const Options& options, const std::vector<std::string>& command,
                           std::stop_token stop) {
  if (options.operands.size() == 2) {
    auto measurement = stored(options.operands[0], options.operands[1], options.gate.incomplete);
    return measurement ? show(options, *measurement) : refuse(measurement.error());
  }
  auto variants = plan_one(options);
  if (!variants) return refuse(variants.error());
  auto measurement = measured(options, command, *variants, stop);
  if (stop.stop_requested()) return kInterrupted;
  return measurement ? show(options, *measurement) : refuse(measurement.error());
}

}  // namespace instr
