// Shared by the fuzz targets. A target is a reader of text from outside: whatever the bytes, it
// must return a value or meaningful errors, and a value must satisfy its invariants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/base/error.h"

// For libFuzzer; 0: done.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace instr {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Ends the process, which libFuzzer takes as a finding.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

inline void require_words(const Error& error) {
  require(!error.what.empty(), "an error says what is wrong");
}

inline void require_words(const Errors& errors) {
  require(!errors.empty(), "where nothing is read there is an error");
  for (const Error& error : errors) require_words(error);
}

}  // namespace instr
