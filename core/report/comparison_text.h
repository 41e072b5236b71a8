// Words and numbers that the formats of a comparison share.
#pragma once

#include <cstddef>
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

// `text` in at most three lines of at most `width` columns (0: any); longer words are cut.
std::string indented(const std::string& text, std::size_t width, std::size_t indent = 2);

// The calls and functions in which a row changed, and the lines if they are known.
std::string places_text(const ComparedRow& row, std::size_t width);

// The change, the calls and a table of the functions.
std::string places_markdown(const Attribution& attribution);

// "2 benchmarks fail, 1 warns, 3 gained more than their limit: refresh the baseline".
std::string verdict_line(const Comparison& comparison);

// "90 same, 3 slower, 2 faster, 1 new; instructions on the geometric mean: +0.31% (95 benchmarks)".
std::string comparison_summary_line(const ComparisonSummary& summary);

}  // namespace instr
