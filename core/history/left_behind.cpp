#include "core/history/left_behind.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/compare/compare.h"
#include "core/history/profiles.h"
#include "core/history/read_runs.h"
#include "core/history/timeline.h"
#include "core/results/result_set.h"

namespace instr {

namespace {

// Without the value at `place`; `next` is the next measured commit, which keeps its own.
Steps without(const Steps& steps, const Place& place, const std::optional<Place>& next) {
  const auto after = std::find_if(steps.begin(), steps.end(),
                                  [&place](const Step& step) { return !(step.place < place); });
  if (after == steps.begin()) return next ? since(steps, *next) : Steps{};
  return with_value(steps, place, std::prev(after)->value, next);
}

// Their functions and call trees are read now: they will be where the run was.
Expected<void> read_all(HistoryRun& run) {
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

Expected<std::vector<HistoryRun>> runs_to_move(const SqlDatabase& database,
                                               const std::string& branch,
                                               const std::set<std::string>& hashes) {
  std::vector<HistoryRun> moved;
  TRY_ASSIGN(const auto next, runs_of(database));
  for (;;) {
    TRY_ASSIGN(auto run, next());
    if (!run) return moved;
    if (run->branch != branch || !hashes.contains(run->commit.hash)) continue;
    TRY(read_all(*run));
    run->branch = left_behind(branch);
    moved.push_back(*std::move(run));
  }
}

// By place, the numbers of the recorded commits that the branch has left, and their hashes.
std::map<Place, std::pair<std::int64_t, std::string>> left_by(const SqlDatabase& database,
                                                              std::int64_t branch,
                                                              const Commit& last,
                                                              const std::set<std::string>& line) {
  std::map<Place, std::pair<std::int64_t, std::string>> left;
  auto rows = database.prepare(
      "SELECT DISTINCT commit_id, hash, position FROM runs JOIN commits ON commits.id = commit_id"
      " WHERE branch_id = ? AND position <= ?");
  rows.start(branch, last.position);
  while (rows.step()) {
    const std::string hash = rows.text(1);
    if (line.contains(hash)) continue;
    left[Commit{hash, rows.integer(2), 0, ""}.place()] = {rows.integer(0), hash};
  }
  return left;
}

}  // namespace

std::string left_behind(const std::string& branch) { return branch + "/left-behind"; }

Expected<std::size_t> leave_behind(const SqlDatabase& database, const std::string& branch,
                                   const Commit& last, const std::set<std::string>& line) {
  return sql_stage([&]() -> Expected<std::size_t> {
    SqlTransaction transaction(database);
    auto numbers = database.prepare("SELECT id FROM branches WHERE name = ?");
    if (!numbers.start(branch).step()) return std::size_t{0};
    const auto number = numbers.integer(0);
    const auto left = left_by(database, number, last, line);
    if (left.empty()) return std::size_t{0};
    std::set<std::string> hashes;
    for (const auto& [place, commit] : left) hashes.insert(commit.second);
    TRY_ASSIGN(auto moved, runs_to_move(database, branch, hashes));

    const Timeline timeline(database, number);
    StepsTable table(database);
    for (const auto one : table.series_of(number)) {
      const Steps before = table.read(one, timeline);
      Steps after = before;
      for (const auto& [place, commit] : left) {
        if (!timeline.is_measured(place, one)) continue;
        after = without(after, place, timeline.next(place, one));
      }
      if (after != before) table.write(one, timeline, before, after);
    }
    auto remove = database.prepare("DELETE FROM runs WHERE branch_id = ? AND commit_id = ?");
    for (const auto& [place, commit] : left) remove.run(number, commit.first);
    TRY(record_more(database, std::move(moved)));
    transaction.commit();
    return left.size();
  });
}

}  // namespace instr
