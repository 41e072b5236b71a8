// Measurements as a document, or in a format that other programs read. Pure functions; printing is
// up to the caller. Text that is not UTF-8 and values that are not numbers never reach an output.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/definitions/metrics.h"
#include "core/report/document.h"
#include "core/report/formats.h"
#include "core/results/measurement.h"
#include "core/results/results_file.h"

namespace instr {

struct ReportOptions {
  int width = 0;           // columns of the terminal; 0: no limit
  bool color = false;      // the table has colors
  bool show_keys = false;  // the tables have a row for each measurement, named by its key
  std::vector<std::string> metrics = default_metrics();  // shown in the tables
  std::set<std::string> shown = {};     // keys that the table leaves out: their rows were shown
  std::optional<double> seconds;        // wall time of the whole run; absent: the sum of all
  std::optional<ResultsHeader> header;  // used by JSON and JSON Lines
  bool is_complete = true;              // false: the run did not finish; read by the same formats
};

// The terminal's width and colours.
RenderOptions space_of(const ReportOptions& options);

// Rows come in the order of the measurements, each group at its first row. JSON has the fields of
// the header, then "complete", "summary" and "measurements"; JSON Lines are those of a results
// file; CSV has a line for each measurement, parameters as "n=4 m=8".
Document report_document(const std::vector<Measurement>& measurements,
                         const ReportOptions& options);

// Ends with a newline.
std::string report(ReportFormat format, const std::vector<Measurement>& measurements,
                   const ReportOptions& options);

// The notes below the tables of a run: marks, failures, skipped variants, the summary.

// False also for what is unsupported here, which counts as skipped.
bool is_failure(const Measurement& measurement);

struct Summary {
  std::size_t counted = 0;
  std::size_t timed = 0;
  std::size_t skipped = 0;
  std::size_t failed = 0;
  std::vector<std::string> unsteady;  // gated variants: "key: 1,200, then 1,204"
  double seconds = 0;                 // the sum of all measurements
  std::vector<DocumentNote> failures;
  std::size_t verified = 0;
  std::vector<DocumentNote> unverified;  // codes other than PASS; the reason is the message
  std::vector<std::pair<std::string, std::size_t>> skips;  // variants by printable reason
};

Summary summarize(const std::vector<Measurement>& measurements);

// "83 counted, 1 of them not steady; 12 skipped; 2 failed; 14.8 s"
std::string summary_line(const Summary& summary, const ReportOptions& options);

std::vector<DocumentNote> report_notes(const std::vector<Measurement>& measurements,
                                       const ReportOptions& options);

}  // namespace instr
