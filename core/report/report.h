// Measurements as text: a table for people, Markdown for reviews, and the formats that other
// programs read. Pure functions; printing is up to the caller. Text that is not UTF-8 and values
// that are not numbers never reach an output.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/definitions/metrics.h"
#include "core/results/measurement.h"
#include "core/results/results_file.h"

namespace instr {

enum class ReportFormat {
  kTable,
  kMarkdown,
  kJson,
  kJsonl,
  kCsv,
  kJunit,
  kGbench,
  kBencher,
  kSmallerIsBetter,
};

struct ReportOptions {
  int width = 0;           // columns of the terminal; 0: no limit
  bool color = false;      // of the table
  bool show_keys = false;  // the tables have a row for each measurement, named by its key
  std::vector<std::string> metrics = default_metrics();  // shown in the tables
  std::optional<double> seconds;        // wall time of the whole run; absent: the sum of all
  std::optional<ResultsHeader> header;  // for JSON and JSON Lines
  bool is_complete = true;              // else the run did not finish; for the same formats
};

// Rows come in the order of the measurements, each group at its first one. All end with a newline.
std::string report(ReportFormat format, const std::vector<Measurement>& measurements,
                   const ReportOptions& options);

std::string report_table(const std::vector<Measurement>& measurements,
                         const ReportOptions& options);
std::string report_markdown(const std::vector<Measurement>& measurements,
                            const ReportOptions& options);
// One document: the header's fields, then "complete", "measurements" and "summary".
std::string report_json(const std::vector<Measurement>& measurements, const ReportOptions& options);
// The lines of a results file.
std::string report_jsonl(const std::vector<Measurement>& measurements,
                         const ReportOptions& options);
// RFC 4180, with a header line; parameters as "n=4 m=8".
std::string report_csv(const std::vector<Measurement>& measurements, const ReportOptions& options);

// JUnit XML: a suite with a case for each measurement, its label as the class. A failed one is an
// <error>, since nothing was compared; counts are in <system-out>, the fingerprint is the suite's
// <properties>, times are those of measuring.
std::string report_junit(const std::vector<Measurement>& measurements,
                         const ReportOptions& options);

// Google Benchmark's JSON, as its tools/compare.py reads it: real_time and cpu_time are the metrics
// "wall" and "cpu", every other metric ("instructions" too) is a user counter, and the fingerprint
// is in the context. A benchmark that was not timed has times of 0 s, a failed one also
// error_occurred and error_message. Skipped ones are left out: compare.py has no geometric mean if
// a time is 0.
std::string report_gbench(const std::vector<Measurement>& measurements,
                          const ReportOptions& options);

// Bencher Metric Format: {"KEY": {"instructions": {"value": N}, "alloc-bytes": …}}, the metrics
// named by slugs, values per iteration. Variants without counts are left out. A key above Bencher's
// 1,024 bytes is cut and ends in a hash; of two measurements of a key the first counts.
std::string report_bencher(const std::vector<Measurement>& measurements,
                           const ReportOptions& options = {});

// The list that github-action-benchmark takes for `customSmallerIsBetter`, with an entry for each
// metric of a measurement: "KEY" is that of the instructions, "KEY allocs" that of the allocations.
// `range` is the difference between the blocks of a count that is not steady. Variants without
// counts are left out. A `|` is escaped (and so is a `\`), since that program puts names into a
// Markdown table as they are.
std::string report_smaller_is_better(const std::vector<Measurement>& measurements,
                                     const ReportOptions& options = {});

}  // namespace instr
