// Runs programs under Callgrind, or without it, in a pinned environment, and reads what they cost.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "core/compile/toolchain.h"
#include "core/definitions/variant.h"
#include "core/measure/measure_config.h"
#include "core/profile/profile.h"
#include "worker/wire.h"

namespace instr {

struct ProgramOptions {
  const Valgrind& valgrind;
  const MeasureConfig& config;
  std::filesystem::path work_dir;  // the folder for profiles
};

// A failure, as a worker would reply.
using ProgramFailure = tl::unexpected<wire::Message>;
ProgramFailure program_failure(FailureKind kind, std::string message);
ProgramFailure program_failure(const Error& error);

// A program to be started.
struct ProgramStart {
  std::vector<std::string> command;
  std::vector<std::string> environment;
  std::filesystem::path working_directory;
  std::optional<std::filesystem::path> standard_input = {};       // absent: empty
  std::vector<std::pair<int, int>> descriptors = {};              // SpawnOptions::descriptors
  std::optional<std::vector<std::string>> valgrind_options = {};  // besides the usual; absent: it
                                                                  // runs without Valgrind
};

// Makes what starts a definition's program, under Valgrind with these options.
tl::expected<ProgramStart, wire::Message> make_start(const Program& program,
                                                     std::vector<std::string> valgrind_options);

// A program that has ended.
struct ProgramEnd {
  pid_t pid = 0;
  std::optional<int> status;  // nothing: it was stopped, as enough was known
  std::string output;         // standard output
  std::string message;        // the end of standard error, else of standard output
};

// Runs a program to its end, or until `is_enough`, `stop` or the variant's time limit, and ends
// all that it has left running, which is a failure. The profiles and logs of its processes are in
// `folder`, with names as in worker/wire.h.
tl::expected<ProgramEnd, wire::Message> run_program(
    const ProgramStart& start, const Variant& variant, const ProgramOptions& options,
    const std::filesystem::path& folder, const std::stop_token& stop,
    const std::function<bool(pid_t)>& is_enough = {});

// Returns the failure of a program that ended otherwise than with the expected exit status.
std::optional<ProgramFailure> find_failure(const ProgramEnd& ended, int expected_status);

// Returns the file with the profile of a program. A failure if it replaced itself by another one.
tl::expected<std::filesystem::path, wire::Message> find_profile(const std::filesystem::path& folder,
                                                                pid_t pid);

// A program's profile, and its figures.
struct CountedRun {
  std::filesystem::path file;
  Profile profile;
  std::uint64_t instructions = 0;
};

tl::expected<CountedRun, wire::Message> read_run(const std::filesystem::path& file);

// Makes the reply about a block of `iterations`, and moves its profile to the work folder.
// `entry`: instructions of the block that are not those of an iteration.
wire::Message make_program_reply(const CountedRun& run, const std::filesystem::path& work_dir,
                                 std::uint64_t iterations, std::uint64_t entry);

// Returns the program's file and the arguments with which it starts: of a script that /usr/bin/env
// starts, its interpreter. An error if it is missing or cannot run under Valgrind.
Expected<std::vector<std::string>> resolve_command(const Program& program);

// The environment of every program: the pinned one, and its own variables.
std::vector<std::string> program_environment(const Program& program);

// Makes a new folder beside `folder`, for its run of that number.
std::filesystem::path make_run_folder(const std::filesystem::path& folder, int number);

}  // namespace instr
