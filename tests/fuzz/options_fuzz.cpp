// The command line: a word a line.
#include <vector>

#include "core/run/options.h"
#include "tests/fuzz/fuzz.h"

namespace instr {
namespace {

void fuzz(std::string_view text) {
  std::vector<std::string> words{"instr_bench"};
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    // A word of a real command line ends at a zero byte.
    words.emplace_back(std::string(text.substr(begin, end - begin)).c_str());
    begin = end + 1;
  }
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  argv.push_back(nullptr);
  const auto options = parse_options(static_cast<int>(words.size()), argv.data());
  if (!options) require_words(options.error());
}

}  // namespace
}  // namespace instr

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  instr::fuzz(instr::text_of(data, size));
  return 0;
}
