#include <fmt/format.h>

#include "core/base/format.h"
#include "core/definitions/variant.h"
#include "core/report/backend_summary.h"
#include "core/report/report_tables.h"

namespace instr {

namespace {

DocumentCell nanoseconds_cell(const std::optional<double>& time) {
  return time ? DocumentCell{format_time(*time)} : DocumentCell{"-", Tone::kDim};
}

DocumentCell works_cell(const BackendSummary& summary) {
  return {fmt::format("{} of {}", summary.works, summary.requested),
          summary.works == summary.requested ? Tone::kPlain : Tone::kWarning};
}

DocumentCell ratio_cell(const BackendSummary& summary, const std::optional<double>& to_eager) {
  if (!to_eager) return {"-", Tone::kDim};
  bool is_eager = summary.backend == Backend::kEager;
  return {fmt::format("{:.2f}x", *to_eager), is_eager ? Tone::kDim : Tone::kPlain};
}

}  // namespace

std::optional<DocumentTable> backend_table(const std::vector<Measurement>& measurements) {
  const auto summaries = summarize_backends(measurements);
  if (summaries.empty()) return std::nullopt;
  bool has_starts = false;
  bool has_memory = false;
  for (const BackendSummary& summary : summaries) {
    has_starts = has_starts || summary.first_result;
    has_memory = has_memory || summary.memory_saved;
  }
  DocumentTable table{.columns = {{.heading = "", .name = "backend", .align = Align::kLeft},
                                  {"works"},
                                  {"fastest"},
                                  {"speed-up"}},
                      .too_wide = TooWide::kStacked,
                      .stacked_title = "by backend:"};
  if (has_memory) table.columns.push_back({"memory saved"});
  if (has_starts) {
    for (const char* metric : {kFirstResultTime, kReadyTime}) {
      table.columns.push_back({find_metric(metric)->heading});
    }
  }
  for (const BackendSummary& summary : summaries) {
    DocumentRow row{
        .cells = {{format_column_name(summary.language, summary.backend, Autograd::kForward)},
                  works_cell(summary),
                  count_cell(summary.fastest),
                  ratio_cell(summary, summary.speedup)}};
    if (has_memory) row.cells.push_back(ratio_cell(summary, summary.memory_saved));
    if (has_starts) {
      row.cells.push_back(nanoseconds_cell(summary.first_result));
      row.cells.push_back(nanoseconds_cell(summary.ready));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace instr
