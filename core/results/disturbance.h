// Signs that something else than the benchmarks moved their times.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/results/timing.h"

namespace instr {

// Returns the second half's median over that of the first half, if the halves differ by more than
// chance and by more than `min`, a share. `values`: in the order in which they were measured.
std::optional<double> find_drift(const std::vector<double>& values, double min);

// Returns why a variant's times, and its speed-up, cannot be trusted: "other processes used 1.0
// cores", "times rose by 40% halfway"; nothing if there is no sign of it.
std::optional<std::string> find_disturbance(const Timing& timing);

}  // namespace instr
