// Lines of an experiment's results, and the file that configures it.
#include <nlohmann/json.hpp>

#include "core/cli/experiment_file.h"
#include "core/results/experiment.h"
#include "core/results/results.h"
#include "tests/fuzz/fuzz.h"

namespace instr {
namespace {

void fuzz_line(std::string_view text) {
  auto record = parse_experiment(text);
  if (!record) return require_words(record.error());
  auto again = parse_experiment(to_line(to_json(*record)));
  require(again.has_value(), "what is written can be read");
  require(again->state == record->state && again->code == record->code,
          "what is read is what was written");
  require(again->total_times.size() == record->total_times.size() ||
              record->state != ExperimentState::kMeasured,
          "no time is lost");
}

void fuzz_file(std::string_view text) {
  auto source = SourceText::checked("e.toml", std::string(text));
  if (!source) return require_words(source.error());
  ExperimentOptions options;
  auto applied = apply_experiment_file(*source, options);
  if (!applied) require_words(applied.error());
}

}  // namespace
}  // namespace instr

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text = instr::text_of(data, size);
  instr::fuzz_line(text);
  instr::fuzz_file(text);
  return 0;
}
