#pragma once

#include <vector>

#include "core/base/error.h"
#include "core/compare/compare.h"
#include "core/results/result_set.h"
#include "core/run/gate.h"

namespace instr {

// Merges the results of the shards of one run, in the order given. Errors: parts that were measured
// differently, two measurements of one key, a shard that is missing (unless `gate` allows that) or
// given twice. The result is complete if all shards are present and complete.
Expected<ResultSet> merge(std::vector<ResultSet> parts, const GateOptions& gate);

}  // namespace instr
