// Counts the benchmarks of programs of Google Benchmark, per iteration of their loops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/measure/program_run.h"

namespace instr {

// A part of a profile, which Callgrind has written when a function began or ended.
struct ProfilePart {
  std::string trigger;  // "--dump-before=benchmark::State::FinishKeepRunning()"
  std::uint64_t instructions = 0;
  std::filesystem::path file = {};
};

// A run of a benchmark's loop: the parts of its iterations, without those that were paused.
struct BenchmarkLoop {
  std::uint64_t instructions = 0;
  std::vector<std::filesystem::path> files = {};
};

// Returns the finished loops, in their order. Those of `threads` threads are one.
std::vector<BenchmarkLoop> find_loops(const std::vector<ProfilePart>& parts,
                                      std::size_t threads = 1);

// Returns a pattern of Google Benchmark that only this name matches.
std::string match_benchmark(std::string_view name);

// Counts a benchmark of the variant's program. The loop's own instructions are included.
tl::expected<wire::Message, wire::Message> count_benchmark(const Variant& variant,
                                                           const ProgramOptions& options,
                                                           const std::filesystem::path& folder,
                                                           const std::stop_token& stop);

}  // namespace instr
