// Expands benchmarks to variants: every combination of statement, parameters, backend, autograd,
// threads and device, with the parameters substituted in the texts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/definitions/grouped_benchmark.h"
#include "core/definitions/variant.h"

namespace instr {

// More results are unreadable, and memory runs out.
inline constexpr std::uint64_t kMaxVariantsPerBenchmark = 10'000;
inline constexpr std::uint64_t kMaxVariants = 100'000;

// Returns the snippet of one statement, with the code that the benchmark has in its language.
Snippet make_snippet(const GroupedBenchmark& benchmark, const Statement& statement);

// Returns how many variants a benchmark expands to; saturates instead of overflowing.
std::uint64_t count_variants(const GroupedBenchmark& benchmark,
                             const std::vector<Backend>& backends = kUsualBackends);

// Multiplies; saturates instead of overflowing.
std::uint64_t saturating_product(std::uint64_t a, std::uint64_t b);

// Replaces `{name}` by the value of the parameter `name`; all other braces stay unchanged.
std::string substitute(std::string_view code,
                       const std::vector<std::pair<std::string, std::string>>& params);

// Returns all variants for these backends, in the order of the benchmarks and of their statements;
// within a statement, the last parameter changes fastest, then backend, autograd, threads, device.
// Errors: more variants than the limits above, two variants with the same key.
tl::expected<std::vector<Variant>, Errors> expand(
    const std::vector<GroupedBenchmark>& benchmarks,
    const std::vector<Backend>& backends = kUsualBackends);

}  // namespace instr
