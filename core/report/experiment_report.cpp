#include "core/report/experiment_report.h"

#include "core/report/experiment_findings.h"
#include "core/report/experiment_summary.h"

namespace instr {

std::string experiment_report(const std::vector<ExperimentRecord>& records,
                              const ExperimentReportOptions& options) {
  const bool is_markdown = options.format == ReportFormat::kMarkdown;
  std::string text;
  const auto add = [&](const Grid& grid, const std::string& title, const std::string& of) {
    text +=
        is_markdown ? markdown_of(grid, of) : table_of(grid, title, options.width, options.color);
    text += "\n";
  };
  if (options.shows_each) add(each_experiment_grid(records), "by experiment:", "experiment");
  add(experiment_grid(summarize_experiments(records)), "by backend:", "backend");
  for (const auto& [title, grid] : findings_among(records)) {
    if (!is_markdown) text += title + ":\n";
    add(grid, "", title);
  }
  return text + experiment_line(records);
}

}  // namespace instr
