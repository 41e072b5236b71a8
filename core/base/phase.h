// Time that is measured and shown.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace instr {

// The time since its construction.
class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// A phase of work that people wait for, such as "compiling 95 snippets". Several may go on at once.

// The phase ends with its last copy.
using Phase = std::shared_ptr<void>;

// Called from any thread.
using BeginPhase = std::function<Phase(const std::string& what)>;

inline Phase begin_phase(const BeginPhase& begin, const std::string& what) {
  return begin ? begin(what) : nullptr;
}

}  // namespace instr
