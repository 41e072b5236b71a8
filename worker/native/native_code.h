// How code of a unit is run natively, for each language in its own way (native/code.cpp,
// python/native/code.cpp). `code` is a find_code() (worker/unit.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "worker/abi.h"
#include "worker/torch_side.h"

namespace instr {

// A snippet that is suspended between blocks, so that its setup runs once and the caller decides
// how many iterations each block has.
class SuspendedCode {
 public:
  // What it reports while it runs.
  struct Listener {
    std::function<void(instr_mark)> on_mark;
    std::function<void(const void* module)> on_module;
    std::function<void()> on_block_end;  // just after the last iteration
  };
  SuspendedCode(const void* code, int threads, Listener listener);
  ~SuspendedCode();
  SuspendedCode(const SuspendedCode&) = delete;
  SuspendedCode& operator=(const SuspendedCode&) = delete;

  // Runs the setup and then, each time, a block of so many iterations; 0: leaves the loop. False
  // once it has ended.
  bool resume(std::uint64_t iterations);

  // Seconds of the last block.
  double seconds() const;
  // How it ended.
  const torch_side::Caught& caught() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

// A compiler of whole functions, to be watched while it works in this process.
struct CompilerWatch {
  std::string cache;  // the folder in which it keeps what it made; empty: the usual one
  std::string logs;   // of it, to keep what they say; words
};
// Also loads it, so that the first function that it compiles does not pay for that.
void watch_compiler(const CompilerWatch& watch);

// What it has made of the code that ran here, as fields of a reply (worker/wire.h); none if it has
// not run.
std::map<std::string, std::string> compiler_report();

// All that one of these logs said.
std::string said_by_compiler(const std::string& log);

void call_verifier(const void* code, instr_verification* verification);

}  // namespace instr
