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
#include "core/results/call_trees_file.h"
#include "core/results/functions_file.h"
#include "core/results/lines_file.h"
#include "core/results/results_file.h"

namespace instr {

// For result sets in memory: what a key has, or an empty value.
template <class Value>
auto by_key(std::map<std::string, Value> values) {
  // Shared, so that copying the result set does not copy the values.
  return [shared =
              std::make_shared<const decltype(values)>(std::move(values))](const std::string& key) {
    auto found = shared->find(key);
    return found == shared->end() ? Value{} : found->second;
  };
}

FunctionsOf functions_from(std::map<std::string, std::vector<FunctionCost>> functions);

struct ResultSet {
  std::string name;  // for messages: "the baseline", a file
  Results results;
  FunctionsOf functions;        // may be empty: then nothing is attributed
  CallTreesOf call_trees = {};  // may be empty
  LinesOf lines = {};           // may be empty
};

// With the functions, call trees and lines of its key, if it was counted.
Expected<Measurement> whole_measurement(const ResultSet& set, Measurement one);

// A results file with what is beside it. `name`: for messages.
Expected<ResultSet> read_result_set(const std::filesystem::path& file, std::string name,
                                    Incomplete incomplete = Incomplete::kRefused);

// The same from the file's bytes, as the caller has read them.
Expected<ResultSet> parse_result_set(std::string_view bytes, const std::filesystem::path& file,
                                     std::string name, Incomplete incomplete);

// Measurements in memory, with the functions and call trees they hold.
ResultSet result_set_of(std::string name, ResultsHeader header,
                        std::vector<Measurement> measurements);

// Only the selected measurements.
ResultSet only(ResultSet set, const std::function<bool(const Variant&)>& selected);

}  // namespace instr
