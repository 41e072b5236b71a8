// Reports of arbitrary results: the run and a comparison in each format.
#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/compare/compare_report.h"
#include "core/report/formats.h"
#include "core/results/results.h"
#include "tests/fuzz/fuzz.h"

namespace instr {
namespace {

bool is_json(std::string_view text) { return nlohmann::json::accept(text.begin(), text.end()); }

bool is_json_lines(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!is_json(line)) return false;
  }
  return true;
}

bool is_xml(const std::string& text) {
  std::istringstream stream(text);
  boost::property_tree::ptree tree;
  try {
    boost::property_tree::read_xml(stream, tree);
  } catch (const boost::property_tree::xml_parser_error&) {
    return false;
  }
  return true;
}

// Without control characters, except for line ends.
bool is_plain(std::string_view text, bool is_csv) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool is_end = c == '\n' || (is_csv && c == '\r' && text.substr(i + 1).starts_with('\n'));
    if (!is_end && (c < 0x20 || c == 0x7F)) return false;
  }
  return true;
}

void check(ReportFormat format, const std::string& text) {
  require(text.ends_with('\n'), "a report ends its last line");
  switch (format) {
    case ReportFormat::kJson:
    case ReportFormat::kGbench:
    case ReportFormat::kBencher:
    case ReportFormat::kSmallerIsBetter: return require(is_json(text), "JSON can be read");
    case ReportFormat::kJsonl: return require(is_json_lines(text), "each line of JSON can be read");
    case ReportFormat::kJunit: return require(is_xml(text), "XML can be read");
    default: return require(is_plain(text, format == ReportFormat::kCsv), "a table is plain text");
  }
}

// Afterwards one measurement is missing, and one has changed.
Expected<Comparison> compared(const Results& results) {
  ResultSet before{"before", results, {}};
  ResultSet after = before;
  auto& measurements = after.results.measurements;
  if (measurements.size() > 1) measurements.pop_back();
  if (!measurements.empty()) {
    if (auto* counted = std::get_if<Counted>(&measurements[0].outcome))
      counted->metrics["ir"] += 100;
  }
  return compare(before, after);
}

void fuzz(std::string_view bytes) {
  const auto results = parse_results(bytes, "r.jsonl", Incomplete::kAllowed);
  if (!results) return;
  ReportOptions options;
  options.width = 80;
  options.header = results->header;
  for (const FormatFacts& known : kReportFormats) {
    check(known.format, report(known.format, results->measurements, options));
  }
  const auto comparison = compared(*results);
  if (!comparison) return require_words(comparison.error());
  CompareReportOptions compare_options;
  compare_options.table.width = 80;
  compare_options.table.show_same = true;
  compare_options.markdown.most_bytes = 2000;
  for (const FormatFacts& known : kReportFormats) {
    const auto text = compare_report(known.format, *comparison, compare_options);
    if (!text) continue;
    check(known.format, *text);
    require(known.format != ReportFormat::kMarkdown || text->size() <= 2000,
            "Markdown keeps to its size");
  }
}

}  // namespace
}  // namespace instr

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  instr::fuzz(instr::text_of(data, size));
  return 0;
}
