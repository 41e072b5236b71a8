// Words and numbers that the formats of a comparison share.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/compare/compare.h"
#include "core/report/report_tables.h"

namespace instr {

// "+1,234", "-12.5", "+0.017", "0"; "-" if not finite.
std::string format_change(double change);

// 0.0031 -> "+0.31%"; "from 0" if it is infinite; "" if it is absent or 0.
std::string format_relative(std::optional<double> relative);

// A metric of a row.
struct CompareLine {
  std::string name;    // printable: the metric; in a row's first line the key
  bool is_key = true;  // the first line; a metric other than instructions is behind the key
  std::string metric;  // "instructions", "allocs", ...
  std::string before;  // "" if absent
  std::string after;
  std::string change;
  std::string relative;
  std::string result;  // "slower, fails"; "" for a metric that did not fail, warn or gain
  Tone tone = Tone::kPlain;
};

// A line for the instructions (or else the first metric), and one for each other metric that
// changed or is missing on one side. At least one line.
std::vector<CompareLine> compare_lines(const ComparedRow& row);

// A function that changed, or the rest. Changes are rounded so that their sum is the row's.
struct AttributionLine {
  std::string change;
  std::string function;  // short and printable, with "(new)" or "(gone)"; or a name for the rest
  std::string object;    // printable; "" if there is none
  std::string calls;     // "12 -> 13"; "" if they did not change
};

// Functions take at most `width` columns (0: no limit).
std::vector<AttributionLine> attribution_lines(const Attribution& attribution, std::size_t width);

// A call that changed: "+5,400", "f now calls g".
struct CallLine {
  std::string change;
  std::string text;  // printable
};

// Texts take at most `width` columns (0: no limit).
std::vector<CallLine> call_lines(const Attribution& attribution, std::size_t width);

// Rows whose changes have the same text.
struct SameChange {
  std::string text;
  std::vector<const ComparedRow*> rows;  // at least one
};

// The rows with an attribution, in their order. `text_of`: makes the text of a change.
std::vector<SameChange> same_changes(const Comparison& comparison,
                                     const std::function<std::string(const ComparedRow&)>& text_of);

// "2 benchmarks fail, 1 warns, 3 gained more than their limit: refresh the baseline".
std::string verdict_line(const Comparison& comparison);

// "90 same, 3 slower, 2 faster, 1 new; instructions on the geometric mean: +0.31% (95 benchmarks)".
std::string comparison_summary_line(const ComparisonSummary& summary);

}  // namespace instr
