// Starts processes, from an argv and never by a shell. Descriptors are close-on-exec. Each process
// leads a process group, so that no descendant outlives it, except for commands that need the
// terminal.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"

namespace instr {

// Owns a file descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept;
  ~Fd();
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void reset();

 private:
  int fd_ = -1;
};

// The two ends of a pipe, for reading and for writing.
Expected<std::array<Fd, 2>> make_pipe();

// Opens a descriptor from which these bytes can be read, for a process's standard input.
Fd open_input(std::string_view bytes);

// Finds the program that a shell would run for this name: on PATH, unless it has a slash. That a
// path with a slash exists is not checked.
Expected<fs::path> find_program(const std::string& name);

struct SpawnOptions {
  std::vector<std::string> argv;  // argv[0] is looked up on PATH unless it has a slash
  std::optional<std::vector<std::string>> environment;  // "NAME=value"; absent: the caller's
  std::optional<fs::path> working_directory;
  // Descriptor of this process -> number in the child. 0, 1 and 2 are /dev/null unless given.
  std::vector<std::pair<int, int>> descriptors;
  // Pins the memory layout: no address space randomisation, an 8 MiB stack, 1024 descriptors, no
  // core files, whatever the caller has set, and a process id above 256.
  bool pin_layout = false;
  // False: it stays in the caller's process group, so that it may read the terminal and gets Ctrl-C
  // and Ctrl-Z from it, as a command in a script does. Its surviving children are then not killed.
  bool own_group = true;
  // It leads a session, too, and so has no terminal.
  bool own_session = false;
};

// A command whose standard output goes to `output` and whose errors go to standard error.
SpawnOptions make_command(std::vector<std::string> argv, int output = STDERR_FILENO);

// A running child, leader of its process group. The destructor kills the group and reaps the child.
// Once the child itself has ended, the rest of its group is killed as well. A child in the caller's
// group is killed with its descendants, as far as they can be found.
class Process {
 public:
  // A program that cannot be run (not found, not executable) is an Error here, not an exit code.
  static Expected<Process> spawn(const SpawnOptions& options);

  Process(Process&&) noexcept;
  Process& operator=(Process&&) noexcept;
  ~Process();

  pid_t pid() const { return pid_; }
  // Returns a status as from waitpid; nothing if the time passed first. May be called again. A
  // status that cannot be learnt is that of a failure.
  std::optional<int> wait_for(std::chrono::milliseconds time);
  int wait();
  // Waits until it ends or `stop` is requested; returns nothing in the latter case.
  std::optional<int> wait(std::stop_token stop);
  // Sends SIGKILL, from any thread; the waiting thread still reaps it.
  void kill() const;
  // Sends SIGTERM, and SIGKILL after `grace`; reaps it.
  void stop(std::chrono::milliseconds grace);

 private:
  Process(pid_t pid, bool own_group) : pid_(pid), own_group_(own_group) {}
  int reap();

  pid_t pid_ = -1;
  bool own_group_ = true;
  std::optional<int> status_;
};

// Kills a process that is not a child of ours, with all its descendants. Only for a `pid` that is
// known to be alive.
void kill_tree(pid_t pid);

// Undoes the choices of this process's caller about signals that would make us lose the statuses of
// our processes (an ignored SIGCHLD) or signals sent to us (a mask). To be called at the start of
// the program.
void reset_inherited_signals();

// Returns whether this process ignores the signal.
bool is_ignored(int signal);

struct CommandResult {
  int exit_code = 0;   // 128 + signal if a signal ended it
  std::string output;  // standard output
  std::string errors;  // standard error, the first 16 MiB
};

// Converts a wait status as a shell does: 128 + signal if a signal ended the process.
int to_exit_code(int wait_status);

// Runs a command to its end and returns its exit code; its output goes where `options` says. If
// `stop` is requested, ends the command, which has ten seconds to clean up, and returns 130.
Expected<int> run_to_end(const SpawnOptions& options, std::stop_token stop);

// Runs a command to its end and captures its output; stops it when `stop` is requested (an error).
// An output of 256 MiB or more is an error, too.
// Its standard input is /dev/null unless `options.descriptors` says otherwise.
Expected<CommandResult> run_command(SpawnOptions options, std::stop_token stop = {});

}  // namespace instr
