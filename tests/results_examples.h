// Results with every field, and a measurement of each outcome.
#pragma once

#include <vector>

#include "core/results/measurement.h"
#include "core/results/results_file.h"

namespace instr {

inline ResultsHeader example_header() {
  Fingerprint fingerprint;
  fingerprint.entries = {{"libtorch_version", "2.13.0"}, {"libtorch_build_id", "ab12"},
                         {"compiler", "g++ 12.2.0"},     {"flags", "-O2"},
                         {"link_flags", "-ltorch"},      {"valgrind", "valgrind-3.19.0"},
                         {"library libc.so.6", "cd34"}};
  fingerprint.machine = {{"kernel", "Linux"}, {"cpu_model", "a CPU"}};
  auto header = make_results_header(fingerprint, {"instr_bench", "--filter=a b"});
  header.shard = Shard{1, 4};
  return header;
}

inline Measurement make_example(const std::string& label, Backend backend) {
  Measurement measurement;
  measurement.variant.label = label;
  measurement.variant.key = label + "/n=64/" + to_string(backend) + "/forward/t1/cpu";
  measurement.variant.params = {{"n", "64"}, {"kind", "a \"b\""}};
  measurement.variant.backend = backend;
  measurement.variant.limits = {{"instructions", "0.5%"}};
  measurement.variant.tags = {"short"};
  measurement.seconds = 0.041;
  return measurement;
}

inline Counted example_count() {
  Counted counted;
  counted.metrics = {{"instructions", 1234.5}, {"allocs", 3}};
  counted.lost = {{"peak_bytes", "it is null"}};
  counted.iterations = 20;
  counted.warmup = 10;
  counted.first_block_instructions = 1234.25;
  counted.second_block_instructions = 1234.5;
  counted.profile = "profiles/x.out";
  return counted;
}

inline std::vector<Measurement> measurements_of_all_outcomes() {
  Timing timing{{}, 100, 4096, 0.5};
  for (const Metric& metric : kMetrics) {
    if (metric.statistic != Statistic::kNone) timing.values[metric.name] = {1.5, 2};
  }
  std::vector<Measurement> all{
      make_example("counted", Backend::kEager), make_example("timed", Backend::kTorchScript),
      make_example("verified", Backend::kFrozen), make_example("skipped", Backend::kAoti),
      make_example("failed", Backend::kFused)};
  all[0].outcome = example_count();
  Counted timed;
  add_times(timed.metrics, timing);
  timing.eager = {3, 4};
  timed.timing = timing;
  timed.compiler = CompilerReport{{{"a.toml:3:1", "a loop", 1}},
                                  {{"b.py:3", "size", 1}},
                                  {{"aten::nonzero", 2}},
                                  {{"frames", {{"ok", 2}}}}};
  timed.operators = {{"aten::mm", false, 7, 1500, 2500}};
  all[1].outcome = timed;
  all[1].variant.where.file = "suite.toml";
  all[1].depends_on.entries = {{"definition", "12ab"}};
  all[2].outcome = Counted{};
  all[2].verification = Verification{VerificationCode::kFail, "2 elements differ"};
  all[3].outcome = Skipped{"needs LibTorch >=2.0"};
  all[4].outcome = Failure{FailureKind::kException, "line 1\nline 2"};
  return all;
}

}  // namespace instr
