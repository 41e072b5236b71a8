// What gnuplot draws of a chart. It is run for that; an error says how to get it.
#pragma once

#include <stop_token>
#include <string>

#include "core/base/error.h"
#include "core/report/plot.h"

namespace instr {

// An SVG.
Expected<std::string> draw_svg(const Chart& chart, std::stop_token stop);

}  // namespace instr
