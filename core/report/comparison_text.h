// The words and numbers that the table and the Markdown of a comparison share.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/compare/compare.h"
#include "core/report/report_tables.h"

namespace instr {

// The metric's public name, printable: "instructions" for "instructions".
std::string heading_of(const std::string& metric);

// "+1,234", "-12.5", "+0.017", "0"; "-" if not finite.
std::string format_change(double change);

// 0.0031 -> "+0.31%"; "from 0" if it is infinite; "" if it is absent or 0.
std::string format_relative(std::optional<double> relative);

// One metric of a row; the first line of a row has its key.
struct CompareLine {
  // Printable: the key (with the metric's name if that is not instructions), or the metric's
  // name.
  std::string name;
  bool is_key = true;
  std::string metric;  // "instructions", "allocs", ...
  std::string before;  // "" if absent
  std::string after;
  std::string change;
  std::string relative;
  std::string result;  // "slower, fails"; "" for a metric that did not fail, warn or gain
  Tone tone = Tone::kPlain;
};

// A line for the instructions (or for the first metric that there is), and one for each other
// metric that changed or is there on one side alone. At least one line.
std::vector<CompareLine> compare_lines(const ComparedRow& row);

// Where a change is. Figures are rounded so that those shown add up to the one of the row.
struct AttributionLine {
  std::string change;
  std::string function;  // short and printable, with "(new)" or "(gone)"; or a name for the rest
  std::string object;    // printable; "" if there is none
  std::string calls;     // "12 -> 13"; "" if they did not move
};

// Functions take at most `width` columns (0: no limit).
std::vector<AttributionLine> attribution_lines(const Attribution& attribution, std::size_t width);

// A line about a call that changed: "+5,400", "f now calls g".
struct CallLine {
  std::string change;
  std::string text;  // printable
};

// Texts take at most `width` columns (0: no limit).
std::vector<CallLine> call_lines(const Attribution& attribution, std::size_t width);

// Rows whose change is in the same places, shown once.
struct SameChange {
  std::string text;
  std::vector<const ComparedRow*> rows;  // at least one
};

// The rows with an attribution, in their order; `text_of` says what is shown of one.
std::vector<SameChange> same_changes(const Comparison& comparison,
                                     const std::function<std::string(const ComparedRow&)>& text_of);

// "2 benchmarks fail, 1 warns, 3 gained more than their limit: refresh the baseline".
std::string verdict_line(const Comparison& comparison);

// "90 same, 3 slower, 2 faster, 1 new; instructions on the geometric mean: +0.31% (95 benchmarks)".
std::string comparison_summary_line(const ComparisonSummary& summary);

// Rows that have something to be done about: they fail, warn or gained beyond their limit.
bool needs_attention(const ComparedRow& row);

}  // namespace instr
