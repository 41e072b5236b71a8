#include "core/history/left_behind.h"

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/history/profiles.h"
#include "core/history/read_runs.h"
#include "core/history/seal.h"
#include "core/history/timeline.h"
#include "core/results/result_set.h"

namespace instr {

namespace {

constexpr const char* kLeftBehind = "/left-behind";

using LeftCommits = std::map<Place, std::int64_t>;  // the numbers of commits

// Reads the functions and call trees of a run now, since they will be moved with it.
Expected<void> read_profiles(HistoryRun& run) {
  std::map<std::string, std::vector<FunctionCost>> functions;
  std::map<std::string, std::shared_ptr<const CallTree>> trees;
  for (const RunValue& value : run.values) {
    if (!value.is_exact || value.metric != kInstructions) continue;
    TRY_ASSIGN(functions[value.key], run.functions(value.key));
    TRY_ASSIGN(trees[value.key], run.call_trees(value.key));
  }
  run.functions = functions_from(std::move(functions));
  run.call_trees = by_key(std::move(trees));
  return {};
}

// Returns the runs of the left commits, with their new branch.
Expected<std::vector<HistoryRun>> read_runs_to_move(const SqlDatabase& database,
                                                    const std::string& branch,
                                                    const LeftCommits& left) {
  std::vector<HistoryRun> runs;
  TRY_ASSIGN(const auto next, read_runs(database));
  for (;;) {
    TRY_ASSIGN(auto run, next());
    if (!run) return runs;
    if (run->branch != branch || !left.contains(run->commit.place())) continue;
    TRY(read_profiles(*run));
    run->branch = left_behind_branch(branch);
    runs.push_back(*std::move(run));
  }
}

LeftCommits read_left_commits(const SqlDatabase& database, std::int64_t branch, const Commit& last,
                              const std::set<std::string>& line) {
  LeftCommits left;
  for (const auto& row : database.rows(
           "SELECT DISTINCT commit_id, hash, position FROM runs"
           " JOIN commits ON commits.id = commit_id WHERE branch_id = ? AND position <= ?",
           branch, last.position)) {
    const Commit commit{row.text(1), row.integer(2), 0, ""};
    if (!line.contains(commit.hash)) left[commit.place()] = row.integer(0);
  }
  return left;
}

// Removes the values at the left commits from the steps of the branch.
void remove_steps(const SqlDatabase& database, std::int64_t branch, const LeftCommits& left) {
  const Timeline timeline(database, branch);
  StepsTable table(database);
  for (const auto series : table.read_series(branch)) {
    const Steps before = table.read(series, timeline);
    Steps after = before;
    for (const auto& [place, commit] : left) {
      if (!timeline.is_measured(place, series)) continue;
      after = without_value(after, place, timeline.next(place, series));
    }
    if (after != before) table.write(series, timeline, before, after);
  }
}

}  // namespace

std::string left_behind_branch(const std::string& branch) { return branch + kLeftBehind; }

bool is_left_behind(const std::string& branch) { return branch.ends_with(kLeftBehind); }

Expected<std::size_t> move_left_behind(const SqlDatabase& database, const std::string& branch,
                                       const Commit& last, const std::set<std::string>& line) {
  return sql_stage([&]() -> Expected<std::size_t> {
    HistoryTransaction transaction(database);
    const auto number = find_branch(database, branch);
    if (!number) return std::size_t{0};
    const auto left = read_left_commits(database, *number, last, line);
    if (left.empty()) return std::size_t{0};
    TRY_ASSIGN(auto moved, read_runs_to_move(database, branch, left));
    remove_steps(database, *number, left);
    auto remove = database.prepare("DELETE FROM runs WHERE branch_id = ? AND commit_id = ?");
    for (const auto& [place, commit] : left) remove.run(*number, commit);
    TRY(record_in_transaction(database, std::move(moved)));
    transaction.commit();
    return left.size();
  });
}

}  // namespace instr
