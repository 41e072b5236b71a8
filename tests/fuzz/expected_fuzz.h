// Files of expected counts in either format: reading, and updating.
#pragma once

#include "core/compare/expected_counts.h"
#include "tests/fuzz/fuzz.h"

namespace instr {

inline std::string update(const SourceText& source, const std::vector<Measurement>& measurements,
                          bool is_wanted) {
  const auto updated = update_expected_counts(
      source, measurements, [is_wanted](const std::string&) { return is_wanted; });
  require(updated.has_value(), "what was read can be updated");
  return updated->text;
}

inline void fuzz_expected(const char* name, std::string_view text) {
  const auto source = SourceText::checked(name, std::string(text));
  if (!source) return require_words(source.error());
  const auto expected = parse_expected_counts(*source);
  if (!expected) return require_words(expected.error());
  std::vector<Measurement> measurements = expected->baseline.measurements;
  require(!measurements.empty(), "a file of expected counts has one");
  require(update(*source, measurements, true) == text, "what is as expected changes no byte");
  require(update(*source, {}, false) == text, "what is not measured changes no byte");

  for (auto& [metric, value] : std::get<Counted>(measurements[0].outcome).metrics)
    value = value / 2 + 1;
  measurements.push_back(measurements[0]);
  measurements.back().variant.key += "/\"new\",\n# ";
  if (measurements.size() > 2) measurements.erase(measurements.begin() + 1);
  const SourceText now(name, update(*source, measurements, true));
  require(update(now, measurements, true) ==
              std::string(now.byte_order_mark()) + std::string(now.text()),
          "the second update changes no byte");
  const auto read = parse_expected_counts(now);
  require(read.has_value(), "the updated file can be read");
  require(read->baseline.measurements.size() == measurements.size(), "it has what was measured");
}

}  // namespace instr
