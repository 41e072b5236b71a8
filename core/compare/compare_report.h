// A comparison in each of the formats that --format names. Pure functions; text that is not UTF-8
// and values that are not numbers never reach an output.
#pragma once

#include <string>

#include "core/compare/compare.h"
#include "core/compare/compare_table.h"
#include "core/report/report.h"

namespace instr {

inline constexpr int kComparisonSchema = 1;

struct CompareReportOptions {
  CompareTableOptions table;
  CompareMarkdownOptions markdown;
};

// All end with a newline. An error for the formats that hold the counts of one run alone (gbench,
// bencher, smaller-is-better).
Expected<std::string> compare_report(ReportFormat format, const Comparison& comparison,
                                     const CompareReportOptions& options = {});

// One document: what is compared, verdict, problems, summary and all rows, in their order and with
// a line for each. States are written with underscores ("failed_after"); a value that is absent, or
// a share of a value of 0, is null.
std::string compare_json(const Comparison& comparison);

// The same as lines: first all but the rows and the summary, then a line for each row, last
// {"summary": …}; a file without that last one was cut off.
std::string compare_jsonl(const Comparison& comparison);

// RFC 4180 with a line of names first; a line for each metric of a row, and one without a metric
// for a row that has none. Problems and summary are not part of it.
std::string compare_csv(const Comparison& comparison);

// JUnit XML with a case for each row, all but the parts behind its label as the class. A row that
// fails is a <failure>: its message says which metric moved how far beyond which limit, its text
// has the functions. What warns or gained passes and says so in <system-out>. What is wrong with
// the comparison as a whole is a case of its own, a failure if the comparison fails and no row
// does.
std::string compare_junit(const Comparison& comparison);

}  // namespace instr
