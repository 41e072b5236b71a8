// The table as GitHub-flavoured Markdown, for reviews.
#include <algorithm>
#include <cctype>
#include <string_view>

#include "core/base/format.h"
#include "core/report/report_grid.h"
#include "core/report/report_summary.h"

namespace instr {

namespace {

// A code block whose fence is longer than any run of backticks in it.
std::string code_block(const std::string& text) {
  std::size_t longest = 2;
  for (std::size_t i = 0, run = 0; i < text.size(); ++i) {
    run = text[i] == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  std::string fence(longest + 1, '`');
  std::string end = text.ends_with('\n') ? "" : "\n";
  return fence + "\n" + text + end + fence + "\n";
}

std::string failures_text(const std::vector<FailureGroup>& failures) {
  std::string out;
  for (const FailureGroup& failure : failures) {
    out += "\n";
    for (std::size_t i = 0; i < failure.keys.size(); ++i) {
      bool last = i + 1 == failure.keys.size();
      out +=
          "- " + markdown_text(failure.keys[i]) + (last ? ": **" + failure.kind + "**" : "") + "\n";
    }
    if (!failure.message.empty()) out += "\n" + code_block(failure.message);
  }
  return out;
}

}  // namespace

std::string markdown_text(const std::string& text) {
  static constexpr std::string_view kSpecial = "\\`*_~[]<>|&";
  std::string out;
  for (char c : text) {
    if (kSpecial.find(c) != std::string_view::npos) out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string markdown_of(const Grid& grid, const std::string& of) {
  std::string out = "| " + of + " |";
  std::string rule = "|:---|";
  for (const GridColumn& column : grid.columns) {
    out += " " + markdown_text(full_heading(column)) + " |";
    rule += "---:|";
  }
  out += "\n" + rule + "\n";
  for (const GridGroup& group : grid.groups) {
    for (const GridRow& row : group.rows) {
      out += "| " + markdown_text(row.full_name) + " |";
      for (const TableCell& cell : row.cells) {
        out += cell.text.empty() ? " |" : " " + markdown_text(cell.text) + " |";
      }
      out += "\n";
    }
  }
  return out;
}

std::string report_markdown(const std::vector<Measurement>& measurements,
                            const ReportOptions& options) {
  if (measurements.empty()) return "Nothing was measured.\n";
  Grid grid =
      options.show_keys ? make_tall_grid(measurements, options) : make_grid(measurements, options);
  Summary summary = summarize(measurements);
  std::string shown = shown_values(options);
  shown.front() = static_cast<char>(std::toupper(shown.front()));
  std::string out = shown + " per iteration:\n\n" + markdown_of(grid, "benchmark");
  Grid backends = make_backend_grid(measurements);
  if (!backends.columns.empty()) out += "\n" + markdown_of(backends, "backend");
  for (const std::string& note : grid.footnotes) out += "\n" + markdown_text(note) + "\n";
  if (!summary.unsteady.empty()) out += "\nNot steady:\n\n";
  for (const std::string& line : summary.unsteady) out += "- " + markdown_text(line) + "\n";
  out += failures_text(summary.failures) + failures_text(summary.unverified);
  if (!summary.skips.empty()) out += "\n";
  for (const SkipGroup& skip : summary.skips) {
    out += "- " + format_count(static_cast<double>(skip.count)) +
           " skipped: " + markdown_text(skip.reason) + "\n";
  }
  return out + "\n" + summary_line(summary, options) + "\n";
}

}  // namespace instr
