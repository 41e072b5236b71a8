#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/phase.h"
#include "core/compile/compiled_variant.h"
#include "core/compile/toolchain.h"
#include "core/definitions/variant.h"
#include "core/measure/measure_config.h"
#include "core/measure/parse_reply.h"
#include "core/measure/worker_process.h"
#include "core/measure/zygote_pool.h"
#include "core/results/measurement.h"

namespace instr {

struct ScheduleOptions {
  MeasureConfig config = {};
  Valgrind valgrind = {};
  FindWorker find_worker = {};
  int jobs = 1;                                         // cores in total
  std::function<double(const Variant&)> expected = {};  // seconds; absent: 1 for each
  // Called from other threads, as when warm workers cannot be used, or a worker was lost.
  std::function<void(const std::string&)> tell = {};
  BeginPhase on_phase = {};  // "starting LibTorch under Valgrind"

  bool needs_fresh_process() const { return config.isolation == Isolation::kProcess; }
};

// The scheduler's decisions, as pure functions: what starts next, and what is retried.

// A variant that waits. It needs one core, since Valgrind runs one of its threads at a time.
struct Candidate {
  double seconds = 1;  // expected
  bool zygote_ready = true;
  bool needs_another_host = false;  // all hosts that have loaded its unit are busy
  std::uint64_t order = 0;          // rows start in this order
};

// Returns the candidate that starts next; nothing if none can. `left`: the expected seconds of all
// waiting variants, divided by the cores. A candidate that takes half of that or more goes first,
// since it would run alone at the end; then those that load no unit a second time; else the order
// decides, so that rows are complete from the first to the last.
std::optional<std::size_t> choose(const std::vector<Candidate>& candidates, double left);

// Returns the bytes that a variant may use: 8 GiB, or less if `jobs` of them would not fit into
// three quarters of the machine's memory.
std::uint64_t default_memory_limit(std::uint64_t machine_bytes, int jobs);
std::uint64_t memory_limit_here(int jobs);  // the limit on this machine

// Returns true if a variant that failed for the `attempts`-th time is retried: only a lost worker
// is not the variant's fault.
bool should_retry(FailureKind kind, int attempts, int retries);

// An attempt at measuring a variant in a host that has loaded its unit.

struct Attempt {
  Outcome outcome;
  double seconds = 0;
  bool again = false;  // the attempt does not count: the variant did not run
};

// Returns an attempt that a lost worker ended.
Attempt lost(std::string message, const std::string& log = "");

class Measurer {
 public:
  // `options` must outlive it.
  explicit Measurer(const ScheduleOptions& options);

  // Returns how long loading its unit may take: its timeout, plus a margin for a busy machine.
  std::chrono::milliseconds load_patience(const Variant& variant) const;

  // Asks `where` to measure. The profile is read, kept if requested, and removed.
  Attempt measure(const CompiledVariant& compiled, WorkerProcess& where) const;
  // Counts a variant that is a program, with profiles in `work_dir`.
  Attempt count(const Variant& program, const Valgrind& valgrind,
                const std::filesystem::path& work_dir, std::stop_token stop) const;

 private:
  std::chrono::milliseconds timeout(const Variant& variant) const;
  bool follows_calls(const Variant& variant) const;
  bool wants_profile(const Variant& variant) const;
  std::optional<Failure> check_iterations(const Variant& variant) const;
  wire::Message make_request(const CompiledVariant& compiled) const;
  Reply request_count(const CompiledVariant& compiled, WorkerProcess& where,
                      std::chrono::milliseconds limit) const;
  Outcome settle(const wire::Message& reply, const Variant& variant,
                 const std::filesystem::path& work_dir) const;
  Outcome read_measured(const wire::Message& reply, const Variant& variant,
                        const std::filesystem::path& profile) const;
  Outcome keep(const std::filesystem::path& profile, const Variant& variant, Counted counted) const;

  const MeasureConfig& config_;
  const bool is_fresh_;
  const std::uint64_t memory_limit_;

  // The empty loop of Python, which is the same code in each unit: it is counted once for each
  // zygote, and the worker is told that its fields of a reply are known.
  mutable std::mutex loops_mutex_;
  mutable std::map<WarmUp, wire::Message> loops_;
};

}  // namespace instr
