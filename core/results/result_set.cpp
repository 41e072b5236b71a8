#include "core/results/result_set.h"

#include "core/base/read_file.h"
#include "core/results/baselines.h"

namespace instr {

namespace {

// Parses the bytes of a results file, and reads its profiles.
Expected<ResultSet> parse_result_set(std::string_view bytes, const fs::path& file, std::string name,
                                     Incomplete incomplete) {
  TRY_ASSIGN(auto results, parse_results(bytes, file.string(), incomplete));
  TRY_ASSIGN(auto profiles, read_profiles(file, results, incomplete));
  return ResultSet{std::move(name),
                   std::move(results),
                   std::move(profiles.functions),
                   std::move(profiles.call_trees),
                   std::move(profiles.lines),
                   std::move(profiles.device_events)};
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
  TRY_ASSIGN(auto events, set.device_events(key));
  if (auto* counted = std::get_if<Counted>(&measurement.outcome)) {
    counted->functions = std::move(functions);
    counted->call_tree = std::move(tree);
    counted->lines = std::move(lines);
    counted->device_events = std::move(events);
  }
  return measurement;
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
  std::map<std::string, std::vector<DeviceEvent>> events;
  for (Measurement& measurement : measurements) {
    auto* counted = std::get_if<Counted>(&measurement.outcome);
    if (counted == nullptr) continue;
    if (counted->call_tree) trees[measurement.variant.key] = std::move(counted->call_tree);
    if (counted->lines) lines[measurement.variant.key] = std::move(counted->lines);
    if (!counted->device_events.empty())
      events[measurement.variant.key] = std::move(counted->device_events);
    if (counted->functions.empty()) continue;
    functions[measurement.variant.key] = std::move(counted->functions);
  }
  return {std::move(name),
          {std::move(header), std::move(measurements), true},
          functions_from(std::move(functions)),
          by_key(std::move(trees)),
          by_key(std::move(lines)),
          by_key(std::move(events))};
}

ResultSet keep_selected(ResultSet set, const std::function<bool(const Variant&)>& selected) {
  std::erase_if(set.results.measurements,
                [&selected](const Measurement& each) { return !selected(each.variant); });
  return set;
}

}  // namespace instr
