// The functions beside a results file: the file itself, and the text compressed in it.
#include "core/base/gzip.h"
#include "core/results/functions_file.h"
#include "tests/fuzz/fuzz.h"

namespace instr {
namespace {

constexpr std::string_view kKeyStart = "{\"key\":\"";

// What begins a key's line, for all lines that have one without an escape.
std::vector<std::string> keys_of(std::string_view text) {
  std::vector<std::string> keys;
  for (std::size_t at = text.find(kKeyStart); at != std::string_view::npos;
       at = text.find(kKeyStart, at + 1)) {
    const std::string_view rest = text.substr(at + kKeyStart.size());
    keys.emplace_back(rest.substr(0, rest.find('"')));
  }
  return keys;
}

void open(std::string bytes, std::string_view text, const std::string& header) {
  const auto functions =
      parse_functions(std::move(bytes), header, "r.functions.jsonl.gz", Incomplete::kAllowed);
  if (!functions) return require_words(functions.error());
  for (const std::string& key : keys_of(text)) {
    const auto costs = (*functions)(key);
    if (!costs) require_words(costs.error());
  }
}

void fuzz(std::string_view text) {
  const std::string header = R"({"schema":1})";
  open(std::string(text), "", header);
  // As written: each line a member of its own, the last one truncated.
  std::string bytes;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    bytes += gzip_member(text.substr(begin, end - begin)).value();
    begin = end;
  }
  open(bytes, text, header);
  if (!bytes.empty()) open(bytes.substr(0, bytes.size() - 9), text, header);
}

}  // namespace
}  // namespace instr

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  instr::fuzz(instr::text_of(data, size));
  return 0;
}
