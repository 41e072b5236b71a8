// The costs of source lines of a results file, beside it in FILE.lines.jsonl.gz
// (core/results/side_file.h) where they were asked for. The only code that knows the format:
//
//   {"key":"matmul/mm/...","iterations":100,"file":[0,0,...],"line":[14,15,...],
//    "self":[1200,...],"inclusive":[1200,null,...],"text":["return a * b;",...]}
//
// A number of each for each line, by file and line: the file's number, whose name has no library;
// and the instructions of all these iterations, with those of what is called there or null where
// they cannot be known. The texts are those of the time of the measurement.
#pragma once

#include <string>

#include "core/profile/line_costs.h"
#include "core/results/side_file.h"

namespace instr {

using LinesOf = ValuesOf<LineCosts>;

// A measurement's lines.
std::string next_lines(SideLines& lines, const std::string& key, const LineCosts& costs);

// Returns the line costs of a file beside results; none if `file` is null. `header`: the first line
// of the results, without its newline. Errors of SideFile::index() are returned at the first use.
LinesOf line_costs_in(const std::shared_ptr<SideFile>& file, const std::string& header,
                      Incomplete incomplete);

}  // namespace instr
