// The summary of a run by backend, as a grid for the table and for Markdown.
#include <fmt/format.h>

#include "core/base/format.h"
#include "core/definitions/variant.h"
#include "core/report/backend_summary.h"
#include "core/report/report_grid.h"

namespace instr {

namespace {

TableCell nanoseconds_cell(const std::optional<double>& time) {
  return time ? TableCell{format_time(*time)} : TableCell{"-", Tone::kDim};
}

TableCell works_cell(const BackendSummary& summary) {
  return {fmt::format("{} of {}", summary.works, summary.requested),
          summary.works == summary.requested ? Tone::kPlain : Tone::kWarning};
}

TableCell ratio_cell(const BackendSummary& summary, const std::optional<double>& to_eager) {
  if (!to_eager) return {"-", Tone::kDim};
  bool is_eager = summary.backend == Backend::kEager;
  return {fmt::format("{:.2f}x", *to_eager), is_eager ? Tone::kDim : Tone::kPlain};
}

}  // namespace

Grid make_backend_grid(const std::vector<Measurement>& measurements) {
  auto summaries = summarize_backends(measurements);
  Grid grid;
  if (summaries.empty()) return grid;
  bool has_starts = false;
  bool has_memory = false;
  for (const BackendSummary& one : summaries) {
    has_starts = has_starts || one.first_result;
    has_memory = has_memory || one.memory_saved;
  }
  grid.columns = {{"works"}, {"fastest"}, {"speed-up"}};
  if (has_memory) grid.columns.push_back({"memory saved"});
  if (has_starts) {
    for (const char* metric : {kFirstResultTime, kReadyTime}) {
      grid.columns.push_back({find_metric(metric)->heading});
    }
  }
  for (const BackendSummary& one : summaries) {
    std::string name = format_column_name(one.language, one.backend, Autograd::kForward);
    TableCell fastest{format_count(static_cast<double>(one.fastest))};
    GridRow row{name, name, {works_cell(one), fastest, ratio_cell(one, one.speedup)}};
    if (has_memory) row.cells.push_back(ratio_cell(one, one.memory_saved));
    if (has_starts) {
      row.cells.push_back(nanoseconds_cell(one.first_result));
      row.cells.push_back(nanoseconds_cell(one.ready));
    }
    grid.groups.push_back({name, {row}});
  }
  return grid;
}

}  // namespace instr
