// The one place that spawns processes: an argv, never a shell; close-on-exec descriptors; a process
// group of its own, so that nothing it starts outlives it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"

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

struct SpawnOptions {
  std::vector<std::string> argv;  // argv[0] is looked up on PATH unless it has a slash
  std::optional<std::vector<std::string>> environment;  // "NAME=value"; absent: the caller's
  std::optional<std::filesystem::path> working_directory;
  // Descriptor of this process -> number in the child. 0, 1 and 2 are /dev/null unless given.
  std::vector<std::pair<int, int>> descriptors;
};

// A running child, leader of its process group. The destructor kills the group and reaps.
class Process {
 public:
  static Expected<Process> spawn(const SpawnOptions& options);

  Process(Process&&) noexcept;
  Process& operator=(Process&&) noexcept;
  ~Process();

  pid_t pid() const { return pid_; }
  // Wait status as of waitpid; nothing where the time passed first.
  std::optional<int> wait_for(std::chrono::milliseconds time);
  int wait();
  // SIGTERM to the group, SIGKILL after `grace`; reaps.
  void stop(std::chrono::milliseconds grace);

 private:
  explicit Process(pid_t pid) : pid_(pid) {}
  pid_t pid_ = -1;
  std::optional<int> status_;
};

struct CommandResult {
  int exit_code = 0;  // 128 + signal where a signal ended it
  std::string output;  // standard output
  std::string errors;  // standard error
};

// Runs a command to its end and keeps what it printed; stops it when `stop` is requested (an error).
Expected<CommandResult> run_command(SpawnOptions options, std::stop_token stop = {});

}  // namespace instr
