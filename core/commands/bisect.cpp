#include <fmt/core.h>
#include <unistd.h>

#include <chrono>

#include "core/base/process.h"
#include "core/commands/commands.h"
#include "core/run/pipeline.h"

namespace instr {

namespace {

// What git bisect run takes a status for.
enum BisectStatus { kGoodCommit = 0, kBadCommit = 1, kUntestable = 125 };

// How long an interrupted build may clear up behind itself.
constexpr std::chrono::seconds kGrace{5};

// As `git bisect run` itself would run it, so that it may ask something on the terminal; but its
// output is not the benchmark's.
Expected<bool> build(const std::vector<std::string>& command, std::stop_token stop) {
  if (command.empty()) return true;
  SpawnOptions spawn;
  spawn.argv = command;
  spawn.descriptors = {{STDIN_FILENO, 0}, {STDERR_FILENO, 1}, {STDERR_FILENO, 2}};
  spawn.own_group = false;
  auto process = Process::spawn(spawn);
  if (!process) return tl::unexpected(process.error());
  auto status = process->wait(stop);
  if (!status) process->stop(kGrace);
  return status && exit_code_of(*status) == 0;
}

Expected<Comparison> measure_and_compare(const Options& options,
                                         const std::vector<std::string>& command,
                                         const Reference& baseline, const Gate& gate,
                                         const std::vector<Variant>& variants, std::stop_token stop,
                                         std::vector<FieldDifference>& differences) {
  Progress progress(progress_options(options));
  progress.expect(variants.size());
  Recorder recorder(std::nullopt, [](const Error&) {});
  auto check = [&](const ResultsHeader& header) -> Expected<void> {
    return check_comparable(baseline, header, options.gate.vary).map([&](auto&& found) {
      differences = std::move(found);
    });
  };
  auto finished = measure_all(options, command, variants, progress, recorder, stop, check);
  progress.finish();
  if (!finished) return tl::unexpected(finished.error());
  return hold_against(baseline,
                      result_set_of("this commit", recorder.header().value_or(ResultsHeader{}),
                                    recorder.in_order_of(variants)),
                      gate);
}

int untestable(const Errors& errors) {
  refuse(errors);
  return kUntestable;
}

}  // namespace

int bisect_command(const Options& options, const std::vector<std::string>& command,
                   std::stop_token stop) {
  // Before the build, which may take long; above 127 the bisection ends.
  auto baseline = find_reference(options.gate, options.selection, {});
  if (!baseline) return kInterrupted + refuse(baseline.error());
  auto gate = open_gate(options.gate);
  if (!gate) return kInterrupted + refuse(gate.error());
  auto built = build(options.rest, stop);
  if (!built) return kInterrupted + refuse(built.error());
  if (stop.stop_requested()) return kInterrupted;
  if (!*built) return untestable({{{}, "this commit does not build", ""}});
  auto variants = plan(options);
  if (!variants) return untestable(variants.error());
  std::vector<FieldDifference> differences;
  auto comparison =
      measure_and_compare(options, command, **baseline, *gate, *variants, stop, differences);
  if (stop.stop_requested()) return kInterrupted;
  if (!comparison) return untestable({comparison.error()});
  show_comparison(options, *comparison, differences);
  if (comparison->summary.comparable == 0) return kUntestable;
  return comparison->verdict == Verdict::kFails ? kBadCommit : kGoodCommit;
}

}  // namespace instr
