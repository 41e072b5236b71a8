#include "core/compare/compare_report.h"

#include <fmt/format.h>

namespace instr {

namespace {

Error no_comparison(ReportFormat format) {
  std::string name;
  for (const auto& [known_name, known] : report_formats()) {
    if (known == format) name = known_name;
  }
  return {{},
          fmt::format("the format {} has no place for a comparison, only for the counts of one run",
                      name),
          fmt::format("print the new results in it instead: "
                      "`instr_bench baseline show FILE --format={}`",
                      name)};
}

}  // namespace

Expected<std::string> compare_report(ReportFormat format, const Comparison& comparison,
                                     const CompareReportOptions& options) {
  switch (format) {
    case ReportFormat::kTable: return compare_table(comparison, options.table);
    case ReportFormat::kMarkdown: return compare_markdown(comparison, options.markdown);
    case ReportFormat::kJson: return compare_json(comparison);
    case ReportFormat::kJsonl: return compare_jsonl(comparison);
    case ReportFormat::kCsv: return compare_csv(comparison);
    case ReportFormat::kJunit: return compare_junit(comparison);
    case ReportFormat::kGbench:
    case ReportFormat::kBencher:
    case ReportFormat::kSmallerIsBetter: break;
  }
  return tl::unexpected(no_comparison(format));
}

}  // namespace instr
