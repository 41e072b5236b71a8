// Files of expected counts: reading, and updating.
#include "core/compare/expected_counts.h"
#include "tests/fuzz/fuzz.h"

namespace instr {
namespace {

ExpectedUpdate update(const SourceText& source, const std::vector<Measurement>& measurements,
                      bool is_wanted) {
  const auto updated = update_expected_counts(
      source, measurements, [is_wanted](const std::string&) { return is_wanted; });
  require(updated.has_value(), "what was read can be updated");
  return *updated;
}

void require_no_change(const ExpectedUpdate& update, const char* what) {
  require(update.changed == 0 && update.added == 0 && update.removed == 0, what);
}

void fuzz(std::string_view text) {
  const auto source = SourceText::checked("e.csv", std::string(text));
  if (!source) return require_words(source.error());
  const auto expected = parse_expected_counts(*source);
  if (!expected) return require_words(expected.error());
  std::vector<Measurement> measurements = expected->baseline.measurements;
  require(!measurements.empty(), "a file of expected counts has one");
  require_no_change(update(*source, measurements, true), "what is as expected changes nothing");
  require_no_change(update(*source, {}, false), "what is not measured changes nothing");

  for (auto& [metric, value] : std::get<Counted>(measurements[0].outcome).metrics)
    value = value / 2 + 1;
  measurements.push_back(measurements[0]);
  measurements.back().variant.key += "/\"new\",\n# ";
  if (measurements.size() > 2) measurements.erase(measurements.begin() + 1);
  const SourceText now("e.csv", update(*source, measurements, true).text);
  const ExpectedUpdate again = update(now, measurements, true);
  require_no_change(again, "the second update changes nothing");
  require(again.text == now.text(), "the second update writes the same");
  const auto read = parse_expected_counts(now);
  require(read.has_value(), "the updated file can be read");
  require(read->baseline.measurements.size() == measurements.size(), "it has what was measured");
}

}  // namespace
}  // namespace instr

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  instr::fuzz(instr::text_of(data, size));
  return 0;
}
