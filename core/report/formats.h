// The output formats: one entry for each that --format takes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/report/document.h"

namespace instr {

struct Measurement;
struct ReportOptions;

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
  kPytorch,
  kExperiments,
};

std::string render_text(const Document& document, const RenderOptions& options);
std::string render_markdown(const Document& document, const RenderOptions& options);
// The members of `head` and `summary`, then the records, one in a line.
std::string render_json(const Document& document, const RenderOptions& options);
std::string render_jsonl(const Document& document, const RenderOptions& options);
// RFC 4180, with a line of names.
std::string render_csv(const Document& document, const RenderOptions& options);

// JUnit XML: a suite with a case for each measurement, its label as the class. A failed measurement
// is an <error>, since nothing was compared; counts are in <system-out>, the fingerprint is in the
// suite's <properties>, times are those of measuring.
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
                           const ReportOptions& options);

// The list that github-action-benchmark takes for `customSmallerIsBetter`, with an entry for each
// metric of a measurement: "KEY" has the instructions, "KEY allocs" the allocations. `range` is the
// difference between the blocks of a count that is not steady. Variants without counts are left
// out. A `|` is escaped (and so is a `\`), since that program puts names into a Markdown table as
// they are.
std::string report_smaller_is_better(const std::vector<Measurement>& measurements,
                                     const ReportOptions& options);

// The list of records that PyTorch's benchmark database takes, one for each metric of a
// measurement, with PyTorch's name if it has one: {"benchmark": {"name": "instr_bench", "mode":
// "training", …}, "model": {"name": KEY, …}, "metric": {"name": …, "benchmark_values": [N]}}.
// Variants without counts are left out.
std::string report_pytorch(const std::vector<Measurement>& measurements,
                           const ReportOptions& options);

// The lines of PyTorch/XLA's experiment runner: {"model": {"suite_name", "model_name"},
// "experiment": {…}, "metrics": {"total_time": [seconds], …}, …}; a failure has its reason as
// metrics.error.
std::string report_experiment_lines(const std::vector<Measurement>& measurements,
                                    const ReportOptions& options);

struct FormatFacts {
  ReportFormat format;
  const char* name;     // the value of --format
  const char* purpose;  // shown by --help
  // Null: the format shows no documents, only runs (and perhaps comparisons, see compare_report()).
  std::string (*render)(const Document&, const RenderOptions&) = nullptr;
  std::string (*report)(const std::vector<Measurement>&, const ReportOptions&) = nullptr;
  bool is_for_people = false;
  // A comparison has the functions of all rows, not only of the first ones.
  bool has_all_attributions = false;
};

inline constexpr FormatFacts kReportFormats[] = {
    {ReportFormat::kTable, "table", "for people", render_text, nullptr, true},
    {ReportFormat::kMarkdown, "markdown", "for a comment on a merge request", render_markdown,
     nullptr, true},
    {ReportFormat::kJson, "json", "one document", render_json, nullptr, false, true},
    {ReportFormat::kJsonl, "jsonl", "a line of JSON for each row", render_jsonl, nullptr, false,
     true},
    {ReportFormat::kCsv, "csv", "for spreadsheets", render_csv},
    {ReportFormat::kJunit, "junit", "for CI servers", nullptr, report_junit},
    {ReportFormat::kGbench, "gbench", "Google Benchmark's JSON, for its compare.py", nullptr,
     report_gbench},
    {ReportFormat::kBencher, "bencher", "Bencher's metric format", nullptr, report_bencher},
    {ReportFormat::kSmallerIsBetter, "smaller-is-better",
     "the list that benchmark-tracking actions read", nullptr, report_smaller_is_better},
    {ReportFormat::kPytorch, "pytorch", "records for PyTorch's benchmark database", nullptr,
     report_pytorch},
    {ReportFormat::kExperiments, "experiments", "lines of PyTorch/XLA's experiment runner", nullptr,
     report_experiment_lines}};

constexpr const FormatFacts& facts_of(ReportFormat format) {
  return kReportFormats[static_cast<std::size_t>(format)];
}

// The formats that show every document.
const std::vector<ReportFormat>& document_formats();

// `format`: one of these.
std::string render(ReportFormat format, const Document& document,
                   const RenderOptions& options = {});

}  // namespace instr
