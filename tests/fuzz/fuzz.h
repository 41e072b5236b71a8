// Shared by the fuzz targets. A target reads text from outside: it must return a value that
// satisfies its invariants, or meaningful errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace instr {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Aborts unless a promise holds, which libFuzzer reports.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

inline void require_words(const Error& error) {
  require(!error.what.empty(), "an error describes the problem");
}

inline void require_words(const Errors& errors) {
  require(!errors.empty(), "a failed read has an error");
  for (const Error& error : errors) require_words(error);
}

}  // namespace instr
