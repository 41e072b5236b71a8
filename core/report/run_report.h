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
  RenderOptions render = {};
  bool show_keys = false;  // the tables have a row for each measurement, named by its key
  std::vector<std::string> metrics = default_metrics();  // shown in the tables
  std::set<std::string> shown = {};    // keys that the table leaves out: their rows were shown
  std::optional<double> seconds = {};  // wall time of the whole run; absent: the sum of all
  std::optional<ResultsHeader> header = {};  // used by JSON and JSON Lines
  bool is_complete = true;  // false: the run did not finish; read by the same formats
};

// Ends with a newline.
std::string report(ReportFormat format, const std::vector<Measurement>& measurements,
                   const ReportOptions& options);

}  // namespace instr
