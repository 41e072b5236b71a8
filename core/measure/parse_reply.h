// A worker's reply about a variant, as a value: counts per iteration, net of the empty loop.
#pragma once

#include <optional>
#include <variant>

#include "core/profile/profile.h"
#include "core/results/measurement.h"
#include "worker/wire.h"

namespace instr {

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
