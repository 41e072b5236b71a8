#include "tests/fuzz/expected_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  instr::fuzz_expected("e.csv", instr::text_of(data, size));
  return 0;
}
