#include "core/report/comparison_report.h"

#include <fmt/format.h>

namespace instr {

Expected<std::string> compare_report(ReportFormat format, const Comparison& comparison,
                                     const CompareReportOptions& options) {
  if (format == ReportFormat::kTable) return compare_table(comparison, options.table);
  if (format == ReportFormat::kMarkdown) return compare_markdown(comparison, options.markdown);
  if (format == ReportFormat::kJunit) return compare_junit(comparison);
  const FormatFacts& facts = facts_of(format);
  if (facts.render != nullptr) return facts.render(comparison_document(comparison), {});
  return fail(fmt::format("the format {} cannot express a comparison, only one run", facts.name),
              fmt::format("print the new results in it instead: "
                          "`instr_bench baseline show FILE --format={}`",
                          facts.name));
}

}  // namespace instr
