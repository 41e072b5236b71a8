// Keeps the end of what this program and its children write to standard error, for a report.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "core/base/error.h"
#include "core/base/process.h"

namespace instr {

// While it exists, standard error is a pipe, from which a thread copies to the original standard
// error. At most one at a time.
class ErrorLog {
 public:
  static Expected<std::unique_ptr<ErrorLog>> start();
  ~ErrorLog() { finish(); }

  // Restores standard error. Returns the last lines.
  std::string finish();

 private:
  ErrorLog(Fd in, const Fd& out);
  void copy(const std::stop_token& stop);

  Fd errors_;  // the original standard error
  Fd in_;
  std::string end_;
  std::jthread copier_;
};

}  // namespace instr
