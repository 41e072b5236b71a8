#include "core/results/result_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "core/base/format.h"
#include "core/base/read_file.h"
#include "core/results/baselines.h"

namespace instr {

namespace {

// The error for a count that is not the sum of its functions' or call paths' costs.
tl::unexpected<Error> fail_on_sum(const fs::path& file, const std::string& key, double ir,
                                  const SideKind& kind, double sum) {
  return fail_at(file,
                 fmt::format("`{}` has {} instructions, and its {}, in {}, have {} together",
                             printable(key), ir, kind.things, side_path(file, kind).string(), sum),
                 "one of the two was edited: measure again");
}

using Counts = std::unordered_map<std::string, double>;

// Collects the instructions of each valid count, by key.
std::shared_ptr<const Counts> collect_counts(const Results& results) {
  auto counts = std::make_shared<Counts>();
  for (const Measurement& measurement : results.measurements) {
    const auto* counted = std::get_if<Counted>(&measurement.outcome);
    if (counted == nullptr) continue;
    const auto ir = counted->metrics.find(kInstructions);
    if (ir != counted->metrics.end()) (*counts)[measurement.variant.key] = ir->second;
  }
  return counts;
}

// Opens the functions of a results file, and checks each sum.
Expected<FunctionsOf> checked_functions(const fs::path& file, const Results& results,
                                        const Counts& counts, Incomplete incomplete) {
  return open_functions(file, results.header_line, incomplete,
                        [&](const std::string& key, const FunctionsSum& sum) -> Expected<void> {
                          const auto ir = counts.find(key);
                          if (ir == counts.end() || sum.is(ir->second)) return {};
                          return fail_on_sum(file, key, ir->second, kFunctionsFile, sum.total());
                        });
}

// Checks the sum of each call tree when it is read.
CallTreesOf with_checked_sums(CallTreesOf trees, const fs::path& file,
                              std::shared_ptr<const Counts> counts) {
  return [trees = std::move(trees), file, counts = std::move(counts)](
             const std::string& key) -> Expected<std::shared_ptr<const CallTree>> {
    auto tree = trees(key);
    const auto ir = counts->find(key);
    if (!tree || !*tree || ir == counts->end()) return tree;
    const double total = (*tree)->per_iteration((*tree)->nodes[0].total);
    if (std::fabs(total - ir->second) <= 1e-6 + std::fabs(ir->second) * 1e-11) return tree;
    return fail_on_sum(file, key, ir->second, kCallTreesFile, total);
  };
}

}  // namespace

FunctionsOf functions_from(std::map<std::string, std::vector<FunctionCost>> functions) {
  return by_key(std::move(functions));
}

Expected<Measurement> add_profile(const ResultSet& set, Measurement measurement) {
  const std::string& key = measurement.variant.key;
  TRY_ASSIGN(auto functions, set.functions(key));
  TRY_ASSIGN(auto tree, set.call_trees(key));
  TRY_ASSIGN(auto lines, set.lines(key));
  if (auto* counted = std::get_if<Counted>(&measurement.outcome)) {
    counted->functions = std::move(functions);
    counted->call_tree = std::move(tree);
    counted->lines = std::move(lines);
  }
  return measurement;
}

Expected<ResultSet> parse_result_set(std::string_view bytes, const fs::path& file, std::string name,
                                     Incomplete incomplete) {
  TRY_ASSIGN(auto results, parse_results(bytes, file.string(), incomplete));
  const auto counts = collect_counts(results);
  TRY_ASSIGN(auto functions, checked_functions(file, results, *counts, incomplete));
  TRY_ASSIGN(auto trees, read_side_file(file, kCallTreesFile));
  TRY_ASSIGN(auto lines, read_side_file(file, kLinesFile));
  const std::string header = results.header_line;
  return ResultSet{std::move(name), std::move(results), std::move(functions),
                   with_checked_sums(call_trees_in(trees, header, incomplete), file, counts),
                   line_costs_in(lines, header, incomplete)};
}

Expected<ResultSet> read_result_set(const fs::path& file, std::string name, Incomplete incomplete) {
  const auto held = hold_baselines(file);
  TRY_ASSIGN(const auto bytes, read_file(file, kMaxResultsBytes, ReadFrom::kFilesAndPipes));
  return parse_result_set(bytes, file, std::move(name), incomplete);
}

ResultSet make_result_set(std::string name, ResultsHeader header,
                          std::vector<Measurement> measurements) {
  std::map<std::string, std::vector<FunctionCost>> functions;
  std::map<std::string, std::shared_ptr<const CallTree>> trees;
  std::map<std::string, std::shared_ptr<const LineCosts>> lines;
  for (Measurement& measurement : measurements) {
    auto* counted = std::get_if<Counted>(&measurement.outcome);
    if (counted == nullptr) continue;
    if (counted->call_tree) trees[measurement.variant.key] = std::move(counted->call_tree);
    if (counted->lines) lines[measurement.variant.key] = std::move(counted->lines);
    if (counted->functions.empty()) continue;
    functions[measurement.variant.key] = std::move(counted->functions);
  }
  return {std::move(name),
          {std::move(header), std::move(measurements), true},
          functions_from(std::move(functions)),
          by_key(std::move(trees)),
          by_key(std::move(lines))};
}

ResultSet keep_selected(ResultSet set, const std::function<bool(const Variant&)>& selected) {
  std::erase_if(set.results.measurements,
                [&selected](const Measurement& each) { return !selected(each.variant); });
  return set;
}

}  // namespace instr
