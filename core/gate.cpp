#include "core/gate.h"

#include <fmt/format.h>

#include <utility>

#include "core/baselines.h"
#include "core/results.h"

namespace instr {

namespace fs = std::filesystem;

Expected<ResultSet> read_result_set(const fs::path& file, std::string name) {
  auto results = read_results(file);
  if (!results) return tl::unexpected(results.error());
  auto functions = open_functions(file);
  if (!functions) return tl::unexpected(functions.error());
  return ResultSet{std::move(name), std::move(*results), std::move(*functions)};
}

ResultSet result_set_of(std::string name, ResultsHeader header,
                        std::vector<Measurement> measurements) {
  std::map<std::string, std::vector<FunctionCost>> functions;
  for (Measurement& measurement : measurements) {
    auto* counted = std::get_if<Counted>(&measurement.outcome);
    if (counted == nullptr || counted->functions.empty()) continue;
    functions[measurement.variant.key] = std::move(counted->functions);
  }
  return {std::move(name),
          {std::move(header), std::move(measurements), false},
          functions_from(std::move(functions))};
}

ResultSet only(ResultSet set, const std::function<bool(const Variant&)>& wanted) {
  std::erase_if(set.results.measurements,
                [&wanted](const Measurement& one) { return !wanted(one.variant); });
  return set;
}

Expected<std::optional<ResultSet>> find_reference(const GateOptions& gate) {
  if (!gate.baseline) return std::nullopt;
  return find_baseline(*gate.baseline)
      .and_then([&gate](const fs::path& file) { return read_result_set(file, *gate.baseline); })
      .map([](ResultSet&& set) { return std::optional(std::move(set)); });
}

Expected<std::vector<FieldDifference>> check_comparable(const ResultsHeader& before,
                                                        const ResultsHeader& after,
                                                        const std::vector<std::string>& vary) {
  auto differences = check_fingerprints(before.fingerprint, after.fingerprint, vary);
  if (!differences || is_comparable(*differences)) return differences;
  std::string list;
  for (const FieldDifference& difference : *differences) {
    if (difference.field_class == FieldClass::kMustMatch) {
      list += "\n  " + to_string(difference);
    }
  }
  return fail(fmt::format("the two were not measured alike (measure both with the same or, where that "
                          "is under test, add --vary={}):{}",
                          fmt::join(vary_for(*differences), ","), list));
}

Expected<Comparison> hold_against(const ResultSet& before, const ResultSet& after,
                                  const GateOptions& gate) {
  return compare(before, after, gate.compare);
}

}  // namespace instr
