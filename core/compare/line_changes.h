// Finds the source lines whose costs changed between two measurements of a variant. Pure.
#pragma once

#include <string>
#include <vector>

#include "core/profile/line_costs.h"

namespace instr {

// A line on one side.
struct LineSide {
  int line = 0;      // 0: the line has no costs on this side, or does not exist
  double self = 0;   // instructions per iteration
  std::string text;  // its source; empty if it is not known
};

struct LineChange {
  std::string file;  // its name after, or before if the file is only there
  LineSide before;
  LineSide after;

  double change() const { return after.self - before.self; }
};

struct LineChanges {
  // By file, beginning with the file that changed most, then by line.
  std::vector<LineChange> lines;
  double elsewhere = 0;  // the rest of the change: in code without line numbers
};

// `difference`: of the counts. Lines are matched by their texts, as a longest common subsequence.
// Files are matched by their paths or else, if that is unambiguous, by their names.
LineChanges compare_lines(const LineCosts& before, const LineCosts& after, double difference);

}  // namespace instr
