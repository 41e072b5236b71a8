// What a worker said of a variant, made a value: counts per iteration, net of the empty loop.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/values/measurement.h"
#include "core/values/profile.h"
#include "worker/wire.h"

namespace instr {

using Outcome = std::variant<Counted, Skipped, Failure>;

// `reply`: `measured` or `failed` (worker/wire.h). `profile`: of the last block, if it is
// wanted. A reply that lacks what it must have is a Failure{kWorkerLost}.
Outcome outcome_of(const wire::Message& reply, const Variant& variant, const Profile* profile);

// What became of a snippet that ended its process with this wait status; nothing if SIGKILL did,
// which says nothing of the snippet.
std::optional<Failure> failure_of_status(int wait_status);

// Of all functions of a profile together; 0 if it has no such event.
std::uint64_t total_of(const Profile& profile, std::string_view event);

// Self costs, of all events that the profile has, and calls per iteration, one for each
// (function, object's file name), greatest cost first; functions that cost nothing themselves are
// left out.
std::vector<FunctionCost> functions_of(const Profile& profile, std::uint64_t iterations);

// What a file or folder of a variant is called: the key if it can be one, else something like
// it; never the same for two keys.
std::string file_name_of(const std::string& key);

// The file name under which --keep-profiles keeps a variant's profile.
std::string profile_file_name(const std::string& key);

}  // namespace instr
