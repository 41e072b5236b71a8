// Makes benchmarks of those in a program of Google Benchmark.
#pragma once

#include <vector>

#include "core/base/error.h"
#include "core/definitions/grouped_benchmark.h"

namespace instr {

// Replaces each benchmark whose command is a program of Google Benchmark by one for each benchmark
// that the program lists. Runs the programs. Errors are at the definitions' places.
tl::expected<std::vector<GroupedBenchmark>, Errors> list_google_benchmarks(
    std::vector<GroupedBenchmark> benchmarks);

}  // namespace instr
