// The costs of source lines of a results file, beside it in FILE.lines.jsonl.gz
// (core/results/side_file.h), if they were requested. The only code that knows the format:
//
//   {"key":"matmul/mm/...","iterations":100,"file":[0,0,...],"line":[14,15,...],
//    "self":[1200,...],"inclusive":[1200,null,...],"text":["return a * b;",...]}
//
// Each list has an entry for each line, by file and line: the number of the file, whose name has no
// library; the instructions in all these iterations, without and with called functions (null if
// that is unknown); and the text at the time of the measurement.
#pragma once

#include <string>

#include "core/profile/profile.h"
#include "core/results/side_file.h"

namespace instr {

using LinesOf = ValuesOf<LineCosts>;

// Makes the lines of a measurement.
std::string next_lines(SideLines& lines, const std::string& key, const LineCosts& costs);

// Returns a reader of the line costs in `file`, as values_in().
LinesOf line_costs_in(const std::shared_ptr<SideFile>& file, const std::string& header,
                      Incomplete incomplete);

}  // namespace instr
