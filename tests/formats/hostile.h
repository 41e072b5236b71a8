// Keys, messages and values that may break a writer of any format.
#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/results/measurement.h"

namespace instr::formats {

inline const std::vector<std::string>& hostile_texts() {
  static const std::vector<std::string> kTexts{
      "plain",
      "quotes \"double\" 'single' `back`",
      "a|b,c;d\\|e\\",
      "one line\nanother\r\nand\ttabs",
      "\x1b[31mred\x07 and \x01\x7f",
      std::string("nul\0in it", 9),
      "größe/矩阵/🙂",
      "not UTF-8: \xff\xfe \xc3( \xed\xa0\x80 \xf8\x88\x80\x80\x80",
      "noncharacters: \xEF\xBF\xBE \xEF\xBF\xBF",
      "]]> <!-- &amp; <b> %s {} ${x}",
      " spaces around ",
      "=1+1",
      "real_time",
      std::string(3000, 'x') + "é"};
  return kTexts;
}

// Returns counted, failed and skipped measurements of each key.
inline std::vector<Measurement> hostile_measurements() {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  std::vector<Measurement> measurements;
  for (const std::string& text : hostile_texts()) {
    for (int kind = 0; kind < 3; ++kind) {
      Measurement& one = measurements.emplace_back();
      one.variant.label = text;
      one.variant.key = text + "/" + std::to_string(kind);
      one.variant.params = {{text, text}};
      one.seconds = kind == 0 ? std::nan("") : 0.5;
      if (kind == 1) one.outcome = Failure{FailureKind::kException, text};
      if (kind == 2) one.outcome = Skipped{text};
      if (kind != 0) continue;
      Counted counted;
      counted.metrics = {{"instructions", 0},  {"allocs", std::nan("")}, {"alloc_bytes", kInfinite},
                         {"peak_bytes", -0.0}, {text, 1.5e300},          {"negative", -2.25}};
      counted.second_block_instructions = 3;
      measurements.back().outcome = counted;
    }
  }
  return measurements;
}

}  // namespace instr::formats
