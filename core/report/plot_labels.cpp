#include "core/report/plot_labels.h"

#include <algorithm>

namespace instr {

bool Box::overlaps(const Box& other) const {
  return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
}

Box label_box(const Spot& spot, Side side, const LabelSizes& sizes) {
  const double half = sizes.line / 2;
  const double beside = sizes.mark + sizes.gap;
  Box box{spot.x - spot.width / 2, spot.y - half, spot.x + spot.width / 2, spot.y + half};
  double across = 0;
  double down = 0;
  switch (side) {
    case Side::kRight: across = spot.width / 2 + beside; break;
    case Side::kLeft: across = -spot.width / 2 - beside; break;
    case Side::kAbove: down = -half - sizes.mark; break;
    case Side::kBelow: down = half + sizes.mark; break;
    case Side::kNone: break;
  }
  return {box.left + across, box.top + down, box.right + across, box.bottom + down};
}

std::vector<Side> place_labels(const std::vector<Spot>& spots, const std::vector<Box>& taken,
                               const LabelSizes& sizes) {
  std::vector<Box> occupied = taken;
  for (const Spot& spot : spots) {
    occupied.push_back(
        {spot.x - sizes.mark, spot.y - sizes.mark, spot.x + sizes.mark, spot.y + sizes.mark});
  }
  std::vector<Side> sides;
  for (const Spot& spot : spots) {
    Side& chosen = sides.emplace_back(Side::kNone);
    for (Side side : {Side::kRight, Side::kLeft, Side::kAbove, Side::kBelow}) {
      const Box box = label_box(spot, side, sizes);
      const bool is_inside = box.left >= 0 && box.top >= 0 && box.right <= sizes.plot_width &&
                             box.bottom <= sizes.plot_height;
      const bool is_free = std::none_of(occupied.begin(), occupied.end(),
                                        [&box](const Box& one) { return box.overlaps(one); });
      if (!is_inside || !is_free) continue;
      occupied.push_back(box);
      chosen = side;
      break;
    }
  }
  return sides;
}

}  // namespace instr
