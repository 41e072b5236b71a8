// A comparison in each of the formats that --format takes. Pure functions, whose texts end with a
// newline. Text that is not UTF-8, control characters (but colours) and values that are not numbers
// never reach an output.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/compare/compare.h"
#include "core/report/formats.h"

namespace instr {

inline constexpr int kComparisonSchema = 1;

struct CompareReportOptions {
  RenderOptions render;
  bool show_same = false;             // rows without a difference are shown too
  bool show_keys = false;             // keys are never shortened
  std::size_t max_attributions = 20;  // rows whose functions the text shows, in their order
};

// Fails for the formats that only hold one run (gbench, bencher, smaller-is-better).
Expected<std::string> compare_report(ReportFormat format, const Comparison& comparison,
                                     const CompareReportOptions& options = {});

// In text, the rows that differ, with each metric that changed; the functions in which the first
// rows changed; a summary. Lines take at most `width` columns, except for keys if that is less than
// a table needs: then a key has a line for itself and stays whole.
//
// In Markdown, the verdict, a table of the rows that fail, warn or gained, and the rest folded: the
// functions that changed, changes within the limits, and rows without counts. A failing row is
// never omitted in favour of anything else.
//
// For programs, the two sides, verdict, problems and summary; a record for each row, in their
// order. States are written with underscores ("failed_after"); an absent value, or one relative to
// 0, is null. In CSV a row has a line per metric, or one without a metric; problems and summary are
// not part of it. JSON Lines end with {"summary": …}: a file without that line is truncated.
Document comparison_document(ReportFormat format, const Comparison& comparison,
                             const CompareReportOptions& options = {});
Document comparison_records(const Comparison& comparison);

// The instructions of a row (or else its first metric), and as parts each other metric that changed
// or is missing on one side.
DocumentRow comparison_row(const ComparedRow& row, const RenderOptions& options);

// A case per row, whose class is its label. A row that fails is a <failure>: its message says which
// metric changed by how much beyond which limit, its text has the functions. Rows that warn or
// gained pass and say so in <system-out>. Problems of the comparison as a whole are a case of their
// own, a failure if the comparison fails and no row does.
std::string compare_junit(const Comparison& comparison);

nlohmann::ordered_json attribution_json(const Attribution& attribution);

// The functions in which a row changed, in aligned columns: "  +80  at::native::dot
// libtorch_cpu.so  calls 1 -> 2". Lines take at most `width` columns (0: 120, as in a pipe).
std::string functions_text(const Attribution& attribution, std::size_t width);

// The cost of each source line before and after, its place, and its source, with - and + before
// removed and new lines. Lines take at most `width` columns (0: any).
std::string lines_text(const LineChanges& changes, std::size_t width);

// `text` in at most three lines of at most `width` columns (0: any); longer words are cut.
std::string indented(const std::string& text, std::size_t width, std::size_t indent = 2);

// The calls and functions in which a row changed, and the lines if they are known.
std::string places_text(const ComparedRow& row, std::size_t width);

// The change, the calls and a table of the functions.
std::string places_markdown(const Attribution& attribution);

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

// The requests to a device that changed, as lines: "+1 launch elementwise_kernel<...>, by
// at::_ops::contiguous". Names of functions take at most `width` columns (0: no limit).
std::vector<std::string> device_lines(const Attribution& attribution, std::size_t width);

// "2 benchmarks fail, 1 warns, 3 gained more than their limit: refresh the baseline".
std::string verdict_line(const Comparison& comparison);

// "90 same, 3 slower, 2 faster, 1 new; instructions on the geometric mean: +0.31% (95 benchmarks)".
std::string comparison_summary_line(const ComparisonSummary& summary);

}  // namespace instr
