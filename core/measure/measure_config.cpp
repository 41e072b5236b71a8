#include "core/measure/measure_config.h"

namespace instr {

double time_limit(const Variant& variant, const MeasureConfig& config) {
  constexpr double kDefault = 60;
  // Compiling executes thousands of times as much as a call.
  const double longer = variant.compiles ? 10 : 1;
  return variant.timeout.value_or(config.timeout.value_or(kDefault) * longer);
}

}  // namespace instr
