// Fuzzes definition files, and the C++ generated from them.
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/process.h"
#include "core/compile/cpp/generate_cpp.h"
#include "core/definitions/expand.h"
#include "core/definitions/load.h"
#include "tests/fuzz/fuzz.h"

namespace instr {
namespace {

constexpr std::size_t kMaxVariants = 64;

// A file in memory for the loader.
class MemoryFile {
 public:
  MemoryFile() : fd_(::memfd_create("definitions", MFD_CLOEXEC)) {
    require(fd_.get() >= 0, "there is a file in memory");
  }

  void write(std::string_view text) {
    require(::ftruncate(fd_.get(), 0) == 0, "the file can be emptied");
    const auto written = ::pwrite(fd_.get(), text.data(), text.size(), 0);
    require(written == static_cast<ssize_t>(text.size()), "the file can be written");
  }

  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_.get()); }

 private:
  Fd fd_;
};

void fuzz(std::string_view text) {
  static MemoryFile file;
  file.write(text);
  const auto definitions = load_definitions({file.path()});
  if (!definitions) return require_words(definitions.error());
  require(!definitions->benchmarks.empty(), "a loaded file has a benchmark");
  const auto variants = expand(definitions->benchmarks);
  if (!variants) return require_words(variants.error());
  require(!variants->empty(), "a benchmark has a variant");
  generate_unit(std::span(*variants).first(std::min(variants->size(), kMaxVariants)));
}

}  // namespace
}  // namespace instr

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  instr::fuzz(instr::text_of(data, size));
  return 0;
}
