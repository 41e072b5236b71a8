// Texts of definitions that may share a unit: nothing in one affects another, for the available
// preprocessors. Those are run on many texts at once, since each run takes a process.
#include "core/compile/preprocessed.h"
#include "core/compile/self_contained.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/preprocess.h"

namespace instr {
namespace {

constexpr std::size_t kAtOnce = 200;

void fuzz(const std::string& text) {
  jumps_out(text);
  reaching_symbols(text);
  if (!is_self_contained(text)) return;
  require(is_complete(text), "what is self-contained is complete");
  require(is_self_contained(text + "\n\n" + text), "and so is it twice");
  static std::vector<std::string> texts;
  texts.push_back(text);
  if (texts.size() < kAtOnce) return;
  for (const char* compiler : {"clang++", "g++"}) {
    if (!find_program(compiler)) continue;
    const std::string found = reaching_text(compiler, texts);
    require(found.empty(), found.c_str());
  }
  texts.clear();
}

}  // namespace
}  // namespace instr

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  instr::fuzz(std::string(instr::text_of(data, size)));
  return 0;
}
