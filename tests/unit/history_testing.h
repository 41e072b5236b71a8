// Histories for tests: a file in a temporary folder, and runs of invented commits.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/history/read.h"
#include "core/history/record.h"
#include "core/history/schema.h"
#include "core/results/result_set.h"
#include "tests/testing.h"

namespace instr::testing {

// Returns the commit at that place on its branch. Its date does not follow its place.
inline Commit commit(int position) {
  return {fmt::format("{:x}{:034}", 0xabc000 + position, 0), position,
          1'700'000'000 - 1000 * position, fmt::format("commit {}", position)};
}

// Returns the tree of a snippet that calls "in a tree", which costs 10, and "grows" for the rest.
inline CallTree make_tree(double value) {
  const auto own = static_cast<std::int64_t>(value) - 10;
  CallTree tree{1,
                {{kSnippetName, "unit", true},
                 {"grows", "libuser.so", true},
                 {"in a tree", "libuser.so", true}},
                {{0, 0, 0, 0, 0}, {1, 0, own, 0, 2}, {2, 0, 10, 0, 1}}};
  sum_up(tree.nodes);
  return tree;
}

// Makes a run with an exact value for each key, and functions that add up to it.
inline HistoryRun make_run(int position, const std::map<std::string, double>& values,
                           const std::string& branch = "main", const std::string& fields = "[]") {
  HistoryRun run{commit(position),
                 branch,
                 "2026-01-02T03:04:05Z",
                 "0.1.0",
                 fmt::format("{} {}", position, fields),
                 {fields},
                 {},
                 {}};
  std::map<std::string, std::vector<FunctionCost>> functions;
  std::map<std::string, std::shared_ptr<const CallTree>> trees;
  for (const auto& [key, value] : values) {
    run.digest += fmt::format(" {}={}", key, value);
    run.values.push_back({key, kInstructions, true, 0, value});
    functions[key] = {{"grows", "libuser.so", value - 10, 2}, {"stays", "libuser.so", 10, 1}};
    trees[key] = std::make_shared<const CallTree>(make_tree(value));
  }
  run.functions = functions_from(std::move(functions));
  run.call_trees = by_key(std::move(trees));
  return run;
}

class HistoryTest : public ::testing::Test {
 protected:
  std::filesystem::path file() const { return folder_.path() / "sub" / "history.db"; }

  SqlDatabase open(SqlAccess access = SqlAccess::kCreate) const {
    return value_of(open_history(file(), access));
  }

  Recorded add(const HistoryRun& run, OnContradiction how = OnContradiction::kRefuse) const {
    return value_of(record(open(), {run}, how));
  }

  // Returns position and value of each step of the key, beginning with its first value.
  std::vector<std::pair<int, double>> steps_of(const std::string& key,
                                               const std::string& branch = "main") const {
    SeriesChoice choice{[&key](const std::string& other) { return other == key; }, {}, branch};
    const auto steps = value_of(read_steps(open(SqlAccess::kRead), choice, std::nullopt, true));
    std::vector<std::pair<int, double>> list;
    for (const RecordedStep& step : steps) {
      list.emplace_back(static_cast<int>(step.commit.position), *step.change.after);
    }
    return list;
  }

  TemporaryFolder folder_;
};

}  // namespace instr::testing
