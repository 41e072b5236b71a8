// A worker's reply about a variant, as a value: counts per iteration, net of the empty loop.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/profile/profile.h"
#include "core/results/measurement.h"
#include "worker/wire.h"

namespace instr {

using Outcome = std::variant<Counted, Skipped, Failure>;

// Limits do not apply to the counts of some variants: kWhyNotGated.
bool is_gated(const Variant& variant);

// `reply`: `measured` or `failed` (worker/wire.h). `profile`: of the last block, if requested. A
// malformed reply is a Failure{kWorkerLost}. If its paths are separate, there is a call tree.
Outcome outcome_of(const wire::Message& reply, const Variant& variant, const Profile* profile,
                   ProfilePaths paths = ProfilePaths::kMerged);

// The failure of a snippet whose process ended with this wait status; nothing for SIGKILL, which
// says nothing about the snippet.
std::optional<Failure> failure_of_status(int wait_status);

// The total over all functions of a profile; 0 if it has no such event.
std::uint64_t total_of(const Profile& profile, std::string_view event);

// Self costs, for all events of the profile, and calls per iteration, an entry per (function,
// object's file name), greatest cost first; functions without any self cost are left out.
std::vector<FunctionCost> functions_of(const Profile& profile, std::uint64_t iterations);

// The name of a variant's file or folder: the key if possible, else something similar; never the
// same for two keys.
std::string file_name_of(const std::string& key);

// The file name under which --keep-profiles keeps a variant's profile.
std::string profile_file_name(const std::string& key);

}  // namespace instr
