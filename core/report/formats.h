// The output formats: one entry for each that --format takes. Which of them take a comparison is in
// core/report/comparison_report.cpp, which needs an entry for each, too.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "core/report/report.h"

namespace instr {

struct FormatFacts {
  ReportFormat format;
  const char* name;     // as --format takes it
  const char* purpose;  // for --help
  std::string (*report)(const std::vector<Measurement>&, const ReportOptions&);
  // For programs, a comparison has the functions of all rows; for people, of the first ones.
  bool has_all_attributions = false;
  bool shows_experiments = false;  // can also show their summary
};

inline constexpr auto kReportFormats =
    std::to_array<FormatFacts>({{.format = ReportFormat::kTable,
                                 .name = "table",
                                 .purpose = "for people",
                                 .report = report_table,
                                 .shows_experiments = true},
                                {.format = ReportFormat::kMarkdown,
                                 .name = "markdown",
                                 .purpose = "for a comment on a merge request",
                                 .report = report_markdown,
                                 .shows_experiments = true},
                                {.format = ReportFormat::kJson,
                                 .name = "json",
                                 .purpose = "one document",
                                 .report = report_json,
                                 .has_all_attributions = true},
                                {.format = ReportFormat::kJsonl,
                                 .name = "jsonl",
                                 .purpose = "a line of JSON per benchmark",
                                 .report = report_jsonl,
                                 .has_all_attributions = true},
                                {.format = ReportFormat::kCsv,
                                 .name = "csv",
                                 .purpose = "for spreadsheets",
                                 .report = report_csv},
                                {.format = ReportFormat::kJunit,
                                 .name = "junit",
                                 .purpose = "for CI servers",
                                 .report = report_junit},
                                {.format = ReportFormat::kGbench,
                                 .name = "gbench",
                                 .purpose = "Google Benchmark's JSON, for its compare.py",
                                 .report = report_gbench},
                                {.format = ReportFormat::kBencher,
                                 .name = "bencher",
                                 .purpose = "Bencher's metric format",
                                 .report = report_bencher},
                                {.format = ReportFormat::kSmallerIsBetter,
                                 .name = "smaller-is-better",
                                 .purpose = "the list that benchmark-tracking actions read",
                                 .report = report_smaller_is_better}});

constexpr const FormatFacts& facts_of(ReportFormat format) {
  return kReportFormats[static_cast<std::size_t>(format)];
}

}  // namespace instr
