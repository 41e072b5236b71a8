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

// Ends with a newline. An error for the formats that only hold one run (gbench, bencher,
// smaller-is-better).
Expected<std::string> compare_report(ReportFormat format, const Comparison& comparison,
                                     const CompareReportOptions& options = {});

// The two sides, verdict, problems and summary; a record for each row, in their order. States are
// written with underscores ("failed_after"); an absent value, or one relative to 0, is null. In CSV
// a row has a line per metric, or one without a metric; problems and summary are not part of it.
// JSON Lines end with {"summary": …}: a file without that line is truncated. No tables.
Document comparison_document(const Comparison& comparison);

nlohmann::ordered_json attribution_json(const Attribution& attribution);

// JUnit XML with a case per row, whose class is its label. A row that fails is a <failure>: its
// message says which metric changed by how much beyond which limit, its text has the functions.
// Rows that warn or gained pass and say so in <system-out>. Problems of the comparison as a whole
// are a case of their own, a failure if the comparison fails and no row does.
std::string compare_junit(const Comparison& comparison);

}  // namespace instr
