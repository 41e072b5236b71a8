#include "core/report/comparison_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/report/formats.h"

namespace instr {

namespace {

using AsText = std::string (*)(const Comparison&, const CompareReportOptions&);

template <std::string (*text)(const Comparison&)>
std::string plain(const Comparison& comparison, const CompareReportOptions&) {
  return text(comparison);
}

std::string table(const Comparison& comparison, const CompareReportOptions& options) {
  return compare_table(comparison, options.table);
}

std::string markdown(const Comparison& comparison, const CompareReportOptions& options) {
  return compare_markdown(comparison, options.markdown);
}

// Null: the format cannot express a comparison.
struct ComparisonIn {
  ReportFormat format;
  AsText text;
};
constexpr std::array<ComparisonIn, kReportFormats.size()> kComparisons{
    {{ReportFormat::kTable, table},
     {ReportFormat::kMarkdown, markdown},
     {ReportFormat::kJson, plain<compare_json>},
     {ReportFormat::kJsonl, plain<compare_jsonl>},
     {ReportFormat::kCsv, plain<compare_csv>},
     {ReportFormat::kJunit, plain<compare_junit>},
     {ReportFormat::kGbench, nullptr},
     {ReportFormat::kBencher, nullptr},
     {ReportFormat::kSmallerIsBetter, nullptr}}};
static_assert(std::equal(kComparisons.begin(), kComparisons.end(), kReportFormats.begin(),
                         [](const ComparisonIn& here, const FormatFacts& known) {
                           return here.format == known.format;
                         }),
              "each format says whether it takes a comparison, in the order of kReportFormats");

Error no_comparison(ReportFormat format) {
  const char* name = facts_of(format).name;
  return {{},
          fmt::format("the format {} cannot express a comparison, only one run", name),
          fmt::format("print the new results in it instead: "
                      "`instr_bench baseline show FILE --format={}`",
                      name)};
}

}  // namespace

Expected<std::string> compare_report(ReportFormat format, const Comparison& comparison,
                                     const CompareReportOptions& options) {
  const AsText text = kComparisons[static_cast<std::size_t>(format)].text;
  if (text == nullptr) return tl::unexpected(no_comparison(format));
  return text(comparison, options);
}

}  // namespace instr
