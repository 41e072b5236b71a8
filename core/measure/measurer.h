// An attempt at measuring a variant in a host that has loaded its unit.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "core/compile/compiled_variant.h"
#include "core/measure/parse_reply.h"
#include "core/measure/schedule_options.h"
#include "core/measure/worker_process.h"

namespace instr {

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

 private:
  std::chrono::milliseconds timeout(const Variant& variant) const;
  bool follows_calls(const Variant& variant) const;
  bool wants_profile(const Variant& variant) const;
  std::optional<Failure> check_iterations(const Variant& variant) const;
  wire::Message make_request(const CompiledVariant& compiled) const;
  Outcome settle(const wire::Message& reply, const Variant& variant,
                 const std::filesystem::path& work_dir) const;
  Outcome read_measured(const wire::Message& reply, const Variant& variant,
                        const std::filesystem::path& profile) const;
  Outcome keep(const std::filesystem::path& profile, const Variant& variant, Counted counted) const;

  const MeasureConfig& config_;
  const bool is_fresh_;
  const std::uint64_t memory_limit_;
};

}  // namespace instr
