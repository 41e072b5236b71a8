#include "core/measurement.h"

#include <array>
#include <utility>

namespace instr {

namespace {

constexpr std::array<std::pair<FailureKind, const char*>, 11> kNames{{
    {FailureKind::kCompileError, "compile_error"},
    {FailureKind::kDefinitionError, "definition_error"},
    {FailureKind::kCrashed, "crashed"},
    {FailureKind::kAborted, "aborted"},
    {FailureKind::kExited, "exited"},
    {FailureKind::kException, "exception"},
    {FailureKind::kTimedOut, "timed_out"},
    {FailureKind::kOutOfMemory, "out_of_memory"},
    {FailureKind::kWorkerLost, "worker_lost"},
    {FailureKind::kNoProfile, "no_profile"},
    {FailureKind::kUnsupported, "unsupported"},
}};

}  // namespace

const char* to_string(FailureKind kind) {
  for (const auto& [known, name] : kNames) {
    if (known == kind) return name;
  }
  return "worker_lost";
}

std::optional<FailureKind> failure_kind_from(const std::string& name) {
  for (const auto& [kind, known] : kNames) {
    if (name == known) return kind;
  }
  return std::nullopt;
}

}  // namespace instr
