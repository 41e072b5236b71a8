// Results files, and what is made of them: a comparison as a table and as Markdown.
#include <nlohmann/json.hpp>

#include "core/compare_table.h"
#include "core/results.h"
#include "tests/fuzz/fuzz.h"

namespace instr {
namespace {

bool has_control_character(std::string_view text) {
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7F) return true;
  }
  return false;
}

void show(const Results& results) {
  ResultSet before{"before", results, {}};
  ResultSet after = before;
  // One that is gone, and one that moved.
  auto& measurements = after.results.measurements;
  if (measurements.size() > 1) measurements.pop_back();
  if (!measurements.empty()) {
    if (auto* counted = std::get_if<Counted>(&measurements[0].outcome)) counted->metrics["ir"] += 100;
  }
  const auto comparison = compare(before, after);
  if (!comparison) return require_words(comparison.error());
  CompareTableOptions table;
  table.width = 80;
  table.show_same = true;
  require(!has_control_character(compare_table(*comparison, table)), "a table is plain text");
  CompareMarkdownOptions markdown;
  markdown.most_bytes = 2000;
  const std::string text = compare_markdown(*comparison, markdown);
  require(text.size() <= markdown.most_bytes, "Markdown keeps to its size");
  require(!has_control_character(text), "Markdown is plain text");
}

void fuzz(std::string_view bytes) {
  const auto results = parse_results(bytes, "r.jsonl");
  if (!results) return require_words(results.error());
  // What was read, written again, reads the same.
  std::string text = to_line(to_json(results->header)) + "\n";
  for (const Measurement& measurement : results->measurements) {
    require(!measurement.variant.key.empty(), "a measurement has a key");
    text += to_line(to_json(measurement)) + "\n";
  }
  const auto again = parse_results(text, "again.jsonl");
  require(again.has_value(), "what was read can be written and read again");
  require(again->measurements.size() == results->measurements.size(), "each measurement stays");
  show(*results);
}

}  // namespace
}  // namespace instr

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  instr::fuzz(instr::text_of(data, size));
  return 0;
}
