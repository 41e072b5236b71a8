// Fuzzes results files.
#include <nlohmann/json.hpp>

#include "core/results/results_file.h"
#include "tests/fuzz/fuzz.h"

namespace instr {
namespace {

void fuzz(std::string_view bytes) {
  const auto results = parse_results(bytes, "r.jsonl", Incomplete::kAllowed);
  if (!results) return require_words(results.error());
  std::string text = to_line(to_json(results->header)) + "\n";
  for (const Measurement& measurement : results->measurements) {
    require(!measurement.variant.key.empty(), "a measurement has a key");
    text += to_line(to_json(measurement)) + "\n";
  }
  if (results->is_complete) text += end_line(results->measurements.size()) + "\n";
  const auto again = parse_results(text, "again.jsonl", Incomplete::kAllowed);
  require(again.has_value(), "results can be written and read again");
  require(again->measurements.size() == results->measurements.size(), "each measurement stays");
  require(again->is_complete == results->is_complete, "complete results stay complete");
}

}  // namespace
}  // namespace instr

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  instr::fuzz(instr::text_of(data, size));
  return 0;
}
