// instr_bench: the pipeline, top to bottom. Load definitions, expand to variants, select, compile,
// measure, store, compare, report.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "core/baselines.h"
#include "core/commands/commands.h"
#include "core/expected_counts.h"
#include "core/gate.h"
#include "core/interrupt.h"
#include "core/options.h"
#include "core/pipeline.h"
#include "core/recorder.h"
#include "core/report.h"
#include "core/select.h"

namespace instr {
namespace {

using Clock = std::chrono::steady_clock;

bool all_measured(const std::vector<Measurement>& measurements) {
  return std::none_of(measurements.begin(), measurements.end(), [](const auto& one) {
    return std::holds_alternative<Failure>(one.outcome);
  });
}

// What the run is held against, without what this run does not measure.
tl::expected<std::optional<Reference>, Errors> reference_of(const Options& options,
                                                            const std::vector<Variant>& variants) {
  auto reference = find_reference(options.gate);
  if (!reference || !*reference) return reference;
  auto wanted = selector(options.selection);
  if (!wanted) return tl::unexpected(Errors{wanted.error()});
  std::set<std::string> keys;
  for (const Variant& variant : variants) keys.insert(variant.key);
  auto is_asked = [&](const Variant& one) { return keys.contains(one.key) || (*wanted)(one); };
  (*reference)->set = only(std::move((*reference)->set), is_asked);
  return reference;
}

// --update-expected: writes what was counted into the file, and says what that changed.
tl::expected<void, Errors> update_expected(const Options& options,
                                           const std::vector<Measurement>& measurements) {
  if (!options.gate.update_expected) return {};
  auto wanted = selector(options.selection);
  if (!wanted) return tl::unexpected(Errors{wanted.error()});
  auto updated = update_expected_file(
      *options.gate.expect, measurements,
      [&wanted](const std::string& key) { return (*wanted)(variant_of_key(key)); });
  if (!updated) return tl::unexpected(updated.error());
  fmt::print(stderr, "{}: {} changed, {} added, {} removed\n", options.gate.expect->string(),
             updated->changed, updated->added, updated->removed);
  return {};
}

// The file that is written while measuring: the one asked for, or what becomes the baseline.
Expected<std::optional<std::filesystem::path>> output_of(const Options& options) {
  if (options.output || !options.save) return options.output;
  return start_baseline(*options.save).map([](const auto& path) { return std::optional(path); });
}

// Makes what was measured the baseline that --save names; says where it is.
Expected<void> save(const Options& options, const std::filesystem::path& output, bool is_whole) {
  if (!options.save) return {};
  if (!is_whole) {
    fmt::print(stderr, "the baseline `{}` stays as it was; what was measured is in {}\n",
               *options.save, output.string());
    return {};
  }
  return finish_baseline(*options.save, output).map([](const std::filesystem::path& file) {
    fmt::print(stderr, "saved as {}\n", file.string());
  });
}

ExitStatus run(const Options& options, const std::vector<std::string>& command,
               std::stop_token stop) {
  auto variants = plan(options);
  if (!variants) return refuse(variants.error());
  auto gate = open_gate(options.gate);
  if (!gate) return refuse(gate.error());
  auto reference = reference_of(options, *variants);
  if (!reference) return refuse(reference.error());
  auto output = output_of(options);
  if (!output) return refuse(output.error());

  auto begin = Clock::now();
  Progress progress(progress_options(options));
  progress.expect(variants->size());
  Recorder recorder(*output, [&](const Error& error) {
    progress.print(STDERR_FILENO, "error: " + to_string(error) + "\n");
  });
  std::vector<FieldDifference> differences;
  auto is_comparable = [&](const ResultsHeader& header) -> Expected<void> {
    if (!*reference) return {};
    return check_comparable(**reference, header, options.gate.vary)
        .map([&](auto&& found) { differences = std::move(found); });
  };
  auto finished = measure_all(options, command, *variants, progress, recorder, stop, is_comparable);
  progress.finish();
  recorder.finish();
  if (!finished && !stop.stop_requested()) return refuse(finished.error());

  auto measurements = recorder.in_order_of(*variants);
  if (variants->empty()) fmt::print(stderr, "this shard has no benchmark\n");
  bool is_whole = !stop.stop_requested() && recorder.could_write();
  if (auto saved = save(options, output->value_or(""), is_whole); !saved) {
    return refuse(saved.error());
  }
  bool is_empty_shard = variants->empty() && *reference && (*reference)->set.results.measurements.empty();
  if (*reference && is_whole && !is_empty_shard) {
    auto after = result_set_of("this run", recorder.header().value_or(ResultsHeader{}), measurements);
    auto comparison = hold_against(**reference, std::move(after), *gate);
    if (!comparison) return refuse(comparison.error());
    return show_comparison(options, *comparison, differences);
  }
  if (is_whole) {
    if (auto updated = update_expected(options, measurements); !updated) {
      return refuse(updated.error());
    }
  }
  ReportOptions report_as = report_options(options);
  report_as.header = recorder.header();
  report_as.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  bool is_worth_a_report = !measurements.empty() || options.format != ReportFormat::kTable;
  if (is_worth_a_report) fmt::print("{}", report(options.format, measurements, report_as));
  if (stop.stop_requested()) return kInterrupted;
  if (!recorder.could_write()) return kBadSetup;
  return all_measured(measurements) ? kGood : kNotMeasured;
}

int dispatch(const Options& options, const std::vector<std::string>& command) {
  if (options.show) {
    fmt::print("{}", *options.show);
    return kGood;
  }
  if (options.command == Command::kList) return list_command(options);
  if (options.dry_run) return dry_run_command(options);
  Interrupt interrupt;
  switch (options.command) {
    case Command::kDoctor: return doctor_command(options, interrupt.token());
    case Command::kWatch: return watch_command(options, interrupt.token());
    case Command::kCompare: return compare_command(options);
    case Command::kBaseline: return baseline_command(options);
    case Command::kExplain: return explain_command(options, command, interrupt.token());
    case Command::kAb: return ab_command(options, command, interrupt.token());
    case Command::kMerge: return merge_command(options);
    case Command::kBisect: return bisect_command(options, command, interrupt.token());
    case Command::kSelftest: return selftest_command(options, interrupt.token());
    default: return run(options, command, interrupt.token());
  }
}

}  // namespace
}  // namespace instr

int main(int argc, char** argv) {
  auto options = instr::parse_options(argc, argv);
  if (!options) return instr::refuse(options.error());
  return instr::dispatch(*options, {argv, argv + argc});
}
