// Makes benchmarks of the models in a checkout of TorchBench (github.com/pytorch/benchmark).
#pragma once

#include <filesystem>
#include <vector>

#include "core/base/error.h"
#include "core/definitions/grouped_benchmark.h"

namespace instr {

// Refuses a folder without torchbenchmark/models.
Expected<void> check_torchbench(const std::filesystem::path& checkout);

// Returns a benchmark for each model of the checkout, sorted: copies of `any_model`, whose setups
// have {torchbench}, {model} and {batch_size}. Nothing is imported: a model is a folder with an
// __init__.py. Its metadata.yaml says which tests are not implemented. If the checkout has the
// torchbench.yaml of PyTorch's own runner, that names models to skip, tolerances, and models whose
// batch size is fixed. `batch_sizes`: empty for each model's own.
Expected<std::vector<GroupedBenchmark>> list_torchbench(const GroupedBenchmark& any_model,
                                                        const std::filesystem::path& checkout,
                                                        const std::vector<int>& batch_sizes);

}  // namespace instr
