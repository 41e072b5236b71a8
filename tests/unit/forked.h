// Runs work in a forked process, as SQLite's locks belong to processes.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <string>

#include "core/base/process.h"

namespace instr::testing {

// A process that waits for begin() before it works, and whose messages can be read meanwhile.
class Forked {
 public:
  static constexpr int kNotPermitted =
      77;  // the exit status of work that this system does not permit

  explicit Forked(const std::function<void()>& work) {
    EXPECT_EQ(pipe(start_) | pipe(messages_), 0);
    std::fflush(stdout);
    child_ = fork();
    if (child_ == 0) run(work);
    close(start_[0]);
    close(messages_[1]);
  }
  ~Forked() { end(); }
  Forked(const Forked&) = delete;
  Forked& operator=(const Forked&) = delete;

  Forked& begin() {
    EXPECT_EQ(::write(start_[1], "!", 1), 1);
    return *this;
  }

  // Returns its messages up to these words, or all of them.
  std::string read_until(const std::string& words) const {
    std::string text;
    char next = 0;
    while (text.find(words) == std::string::npos && read(messages_[0], &next, 1) == 1) text += next;
    return text;
  }

  // Waits for its end, and returns its exit status; 1 if an expectation failed in it.
  int end() {
    if (child_ == 0) return status_;
    close(start_[1]);
    int status = 0;
    waitpid(child_, &status, 0);
    close(messages_[0]);
    child_ = 0;
    return status_ = to_exit_code(status);
  }

 private:
  [[noreturn]] void run(const std::function<void()>& work) const noexcept {
    close(start_[1]);
    dup2(messages_[1], STDERR_FILENO);
    char signal = 0;
    if (read(start_[0], &signal, 1) != 1) _exit(2);
    work();
    std::fflush(stdout);
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }

  int start_[2] = {};
  int messages_[2] = {};
  pid_t child_ = 0;
  int status_ = 0;
};

}  // namespace instr::testing
