// Merges the results of the shards of one run.
#pragma once

#include <vector>

#include "core/base/error.h"
#include "core/compare/compare.h"
#include "core/results/result_set.h"
#include "core/run/gate.h"

namespace instr {

// The measurements of all parts, in the order given. Errors: parts that were not measured alike,
// two measurements of one key, a shard that is missing (unless `gate` allows that) or given twice.
// The result is complete if all shards are there and complete themselves.
Expected<ResultSet> merge(std::vector<ResultSet> parts, const GateOptions& gate);

}  // namespace instr
