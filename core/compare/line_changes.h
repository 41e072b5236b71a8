// The source lines whose costs changed: those of two measurements of one variant, side by side.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "core/profile/line_costs.h"

namespace instr {

// A line on one side.
struct LineSide {
  int line = 0;      // 0: it has no costs there, or does not exist
  double self = 0;   // instructions per iteration
  std::string text;  // of the source; empty if it is not known
};

struct LineChange {
  std::string file;  // after; before, if it is only there
  LineSide before;
  LineSide after;

  double change() const { return after.self - before.self; }
};

struct LineChanges {
  std::vector<LineChange> lines;  // by file, the one that changed most first, and place in it
  double elsewhere = 0;           // the rest of the change: in code without line numbers
};

// `difference`: of the counts. A line is the same before and after if its text is, and it is in the
// same place among the others (a longest common subsequence); files are the same by their paths or
// else, if that is unambiguous, by their names.
LineChanges line_changes(const LineCosts& before, const LineCosts& after, double difference);

}  // namespace instr
