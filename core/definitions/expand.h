// Definitions to variants: every combination of parameters, backend, autograd, threads and device,
// with the parameters put into the texts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/definitions/definition.h"
#include "core/definitions/variant.h"

namespace instr {

// Beyond these nobody reads the results, and memory runs out.
inline constexpr std::uint64_t kMaxVariantsPerBenchmark = 10'000;
inline constexpr std::uint64_t kMaxVariants = 100'000;

// How many variants a definition expands to; saturates instead of overflowing.
std::uint64_t count_variants(const Definition& definition,
                             const std::vector<Backend>& backends = kUsualBackends);

// Product that saturates.
std::uint64_t saturating_product(std::uint64_t a, std::uint64_t b);

// `{name}` becomes the parameter's value wherever `name` is one of the parameters; all other braces
// stay as they are.
std::string substitute(std::string_view code,
                       const std::vector<std::pair<std::string, std::string>>& params);

// All variants for these backends, in the order of the definitions; within one, the last parameter
// moves fastest, then backend, autograd, threads, device. Errors: more variants than the limits
// above, two variants with the same key.
tl::expected<std::vector<Variant>, Errors> expand(
    const std::vector<Definition>& definitions,
    const std::vector<Backend>& backends = kUsualBackends);

}  // namespace instr
