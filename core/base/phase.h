// A phase of work that people wait for, such as "compiling 95 snippets". Several may go on at once.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace instr {

// The phase ends with its last copy.
using Phase = std::shared_ptr<void>;

// Called from any thread.
using BeginPhase = std::function<Phase(const std::string& what)>;

inline Phase begin_phase(const BeginPhase& begin, const std::string& what) {
  return begin ? begin(what) : nullptr;
}

}  // namespace instr
