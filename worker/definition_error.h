// Thrown by a snippet that compiles but cannot be measured as its definition requests.
#pragma once

#include <stdexcept>
#include <string>

// The worker recognises it by its prefix.
struct instr_definition_error : std::runtime_error {
  explicit instr_definition_error(const std::string& what)
      : std::runtime_error("instr_definition_error: " + what) {}
};
