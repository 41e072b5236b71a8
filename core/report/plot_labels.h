// Where names stand beside the points of a picture, so that none covers another. Pure.
#pragma once

#include <cstddef>
#include <vector>

namespace instr {

// A rectangle of the plot; y grows downwards.
struct Box {
  double left = 0;
  double top = 0;
  double right = 0;
  double bottom = 0;

  bool overlaps(const Box& other) const;
};

// A mark with a name to be placed.
struct Spot {
  double x = 0;
  double y = 0;
  double width = 0;  // of the name
};

enum class Side { kNone, kRight, kLeft, kAbove, kBelow };

// The sizes of marks and names, in the units of the plot.
struct LabelSizes {
  double plot_width = 0;
  double plot_height = 0;
  double mark = 0;  // half of one
  double gap = 0;   // between a mark and its name
  double line = 0;  // height of a name
};

// Of the name of `spot` at that side, which is not kNone.
Box label_box(const Spot& spot, Side side, const LabelSizes& sizes);

// A side for each: the first one at which the name lies in the plot, over no mark, none of `taken`
// and no other name; kNone where there is none.
std::vector<Side> place_labels(const std::vector<Spot>& spots, const std::vector<Box>& taken,
                               const LabelSizes& sizes);

}  // namespace instr
