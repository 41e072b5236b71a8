#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/definitions/variant.h"
#include "core/profile/profile.h"
#include "core/results/measurement.h"
#include "worker/wire.h"

namespace instr {

inline constexpr std::size_t kMaxReasonLength = 300;  // columns

// Parses the report of a compiler of whole functions, the worker's JSON (instr_compiler.py):
// {"breaks": [{"file", "line", "text", "count"}, ...], "recompiles": the same,
// "unlowered": {name: number}, "choices": [...] as in results, "counters": {group: {name:
// number}}}.
// Places in the variant's texts become those of its TOML file. Malformed parts are left out.
CompilerReport parse_compiler_report(std::string_view json, const Variant& variant);

// A block's profile as the costs of functions per iteration.

// Returns `total` without the part `around` the iterations, for each of them. It may be negative: a
// statement that the compiler removed costs a little less than the empty loop.
double per_iteration(std::uint64_t total, std::uint64_t around, std::uint64_t iterations);

// Returns self costs, for all events of the profile, and calls per iteration: one entry for each
// (function, object's file name), greatest cost first; functions without any self cost are left
// out.
std::vector<FunctionCost> function_costs(const Profile& profile, std::uint64_t iterations);

// A worker's reply about a variant, as a value: counts per iteration, net of the empty loop.

using Outcome = std::variant<Counted, Skipped, Failure>;

// `reply`: one about a measurement, or `failed` (worker/wire.h). `profile`: of the last block, if
// requested; if its paths are separate, there is a call tree. A malformed reply is a
// Failure{kWorkerLost}.
Outcome parse_reply(const wire::Message& reply, const Variant& variant,
                    const Profile* profile = nullptr, ProfilePaths paths = ProfilePaths::kMerged);

// Adds the files that were loaded. Returns a failure if one of them is in the checked-out tree, and
// another commit is measured.
Outcome with_files(Outcome outcome, const std::vector<std::filesystem::path>& files);

// Returns true if a snippet that shared its process with others may have failed because of them:
// its setup cannot run twice in a process, such as one that registers an operator; they took the
// memory; or an error on a device, which fails whatever uses the device afterwards, was theirs.
bool may_work_alone(const wire::Message& reply, const Variant& variant);

// Returns the failure of a snippet whose process ended with this wait status; nothing for SIGKILL,
// which is not the snippet's own end.
std::optional<Failure> failure_of_status(int wait_status);

}  // namespace instr
