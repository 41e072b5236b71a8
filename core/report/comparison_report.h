// A comparison in each of the formats that --format names. Pure functions; text that is not UTF-8
// and values that are not numbers never reach an output.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/compare/compare.h"
#include "core/report/comparison_table.h"
#include "core/report/report.h"

namespace instr {

inline constexpr int kComparisonSchema = 1;

struct CompareReportOptions {
  CompareTableOptions table;
  CompareMarkdownOptions markdown;
};

// All end with a newline. An error for the formats that only hold one run (gbench,
// bencher, smaller-is-better).
Expected<std::string> compare_report(ReportFormat format, const Comparison& comparison,
                                     const CompareReportOptions& options = {});

// One document: the two sides, verdict, problems, summary and all rows, in their order, one per
// line. States are written with underscores ("failed_after"); an absent value, or one relative to
// 0, is null.
std::string compare_json(const Comparison& comparison);

// As it is in there.
nlohmann::ordered_json attribution_json(const Attribution& attribution);

// The same as lines: first all but the rows and the summary, then a line per row, last {"summary":
// …}; a file without that last line is truncated.
std::string compare_jsonl(const Comparison& comparison);

// RFC 4180 with a header line; a line per metric of a row, and one without a metric for a row that
// has none. Problems and summary are not part of it.
std::string compare_csv(const Comparison& comparison);

// JUnit XML with a case per row, whose class is its label. A row that fails is a <failure>: its
// message says which metric changed by how much beyond which limit, its text has the functions.
// Rows that warn or gained pass and say so in <system-out>. Problems of the comparison as a whole
// are a case of their own, a failure if the comparison fails and no row does.
std::string compare_junit(const Comparison& comparison);

}  // namespace instr
