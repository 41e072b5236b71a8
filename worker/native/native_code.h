// Runs code of a unit natively, for C++ in native_code.cpp, for Python in python/native/code.cpp.
// `code` is the result of find_code() (worker/unit.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "worker/abi.h"
#include "worker/torch_side.h"
#include "worker/wire.h"

namespace instr {

// Called before code runs that may crash, with fields for the reply if it does.
using OnProgress = std::function<void(const wire::Fields&)>;

// A snippet that is suspended between blocks: the setup runs once, and the caller decides the
// iterations of each block.
class SuspendedCode {
 public:
  struct Listener {
    std::function<void(instr_mark)> on_mark;
    std::function<void(const void* module)> on_module;
    std::function<void()> on_block_end;  // just after the last iteration
  };

  static std::unique_ptr<SuspendedCode> make(const void* code, int threads, Listener listener);
  virtual ~SuspendedCode() = default;

  // Runs the setup at the first call, later a block of so many iterations, or leaves the loop (0).
  // False once the snippet has ended.
  virtual bool resume(std::uint64_t iterations) = 0;

  // The time of the last block.
  virtual double seconds() const = 0;
  // The exception that ended it, if any.
  const torch_side::Caught& caught() const { return caught_; }

 protected:
  torch_side::Caught caught_;
};

struct CompilerWatch {
  std::string cache;  // the folder of the compiler's cache; empty: the usual one
  std::string logs;   // names of logs to keep, separated by spaces
};
// Loads the compiler of whole functions and watches it in this process. Loading it here keeps that
// out of the time of the first function.
void watch_compiler(const CompilerWatch& watch);

// Returns the compiler's results as fields of a reply (worker/wire.h); empty if it has not run.
std::map<std::string, std::string> compiler_report();

// Returns running totals of the device that a compiler's code runs on and waits for, by the names
// of their metrics, times in nanoseconds; empty: there is no such device.
std::map<std::string, double> device_totals();

// Returns the messages of a log of CompilerWatch.
std::string compiler_log(const std::string& log);

// Returns the files whose code the process has loaded, a line each. Of an interpreter: those that
// modules were imported from, outside the standard library, torch and the worker; of an installed
// package, its folder. Otherwise: shared objects.
std::string loaded_files();

void call_verifier(const void* code, instr_verification* verification);

}  // namespace instr
