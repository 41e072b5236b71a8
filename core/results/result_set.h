// The results of a run with their functions, call trees and lines, in memory or from files.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/results/profiles_file.h"
#include "core/results/results_file.h"

namespace instr {

// Makes a lookup of values by key, for result sets in memory; an unknown key has an empty value.
template <class Value>
auto by_key(std::map<std::string, Value> values) {
  // Shared, so that copying the result set does not copy the values.
  return [shared =
              std::make_shared<const decltype(values)>(std::move(values))](const std::string& key) {
    const auto entry = shared->find(key);
    return entry == shared->end() ? Value{} : entry->second;
  };
}

FunctionsOf functions_from(std::map<std::string, std::vector<FunctionCost>> functions);

struct ResultSet {
  std::string name;  // shown in messages: "the baseline", a file
  Results results;
  FunctionsOf functions;              // may be empty: then nothing is attributed
  CallTreesOf call_trees = {};        // may be empty
  LinesOf lines = {};                 // may be empty
  DeviceEventsOf device_events = {};  // may be empty
};

// Adds the profile to a counted measurement of the set.
Expected<Measurement> add_profile(const ResultSet& set, Measurement measurement);

// Reads a results file with its profiles. `name`: for messages.
Expected<ResultSet> read_result_set(const fs::path& file, std::string name,
                                    Incomplete incomplete = Incomplete::kRefused);

// Makes a result set of measurements in memory, with their profiles.
ResultSet make_result_set(std::string name, ResultsHeader header,
                          std::vector<Measurement> measurements);

// Keeps only the selected measurements.
ResultSet keep_selected(ResultSet set, const std::function<bool(const Variant&)>& selected);

}  // namespace instr
