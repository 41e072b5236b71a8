// One attempt at measuring one variant in a host that holds its unit.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "core/compile/compiled_variant.h"
#include "core/measure/parse_reply.h"
#include "core/measure/schedule.h"
#include "core/measure/worker_process.h"

namespace instr {

// The result of an attempt; `again`: it says nothing about the variant and does not count.
struct Attempt {
  Outcome outcome;
  double seconds = 0;
  bool again = false;
};

// An attempt that a lost worker ended.
Attempt lost(std::string message, const std::string& log = "");

class Measurer {
 public:
  // `options` must outlive it.
  explicit Measurer(const ScheduleOptions& options);

  // How long loading a unit for it may take: its timeout, plus a margin for a busy machine.
  std::chrono::milliseconds load_patience(const Variant& variant) const;

  // Asks `where` to measure. The profile is read, kept if requested, and removed.
  Attempt measure(const CompiledVariant& compiled, Requestable& where) const;

 private:
  std::optional<Failure> too_long_for_paths(const Variant& variant) const;
  wire::Message request_for(const CompiledVariant& compiled) const;
  Outcome settle(const wire::Message& reply, const Variant& variant,
                 const std::filesystem::path& work_dir) const;
  Outcome keep(const std::filesystem::path& profile, const Variant& variant, Counted counted) const;
  std::optional<std::vector<FollowedFunction>> followed(
      const wire::Message& reply, const Variant& variant,
      const std::filesystem::path& work_dir) const;
  static Outcome with_cause(Outcome outcome, const std::filesystem::path& work_dir);

  const ScheduleOptions& options_;
  const std::uint64_t memory_limit_;
};

}  // namespace instr
