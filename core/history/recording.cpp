#include "core/history/recording.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "core/base/format.h"
#include "core/base/text.h"
#include "core/history/profiles.h"
#include "core/history/read.h"
#include "core/history/schema.h"
#include "core/history/timeline.h"

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

Expected<std::optional<std::string>> find_former_name(const SqlDatabase& database,
                                                      const std::string& branch,
                                                      const std::set<std::string>& line) {
  return sql_stage([&]() -> Expected<std::optional<std::string>> {
    std::optional<std::string> former;
    if (find_branch(database, branch)) return former;
    // The last commit of each branch, the newest first.
    auto rows = database.rows(
        "SELECT name, hash, max(position) AS last FROM runs"
        " JOIN commits ON commits.id = commit_id JOIN branches ON branches.id = branch_id"
        " GROUP BY branch_id ORDER BY last DESC, name");
    while (!former && rows.step()) {
      const std::string name = rows.text(0);
      if (!is_left_behind(name) && line.contains(rows.text(1))) former = name;
    }
    return former;
  });
}

Expected<void> rename_branch(const SqlDatabase& database, const std::string& former,
                             const std::string& name) {
  return sql_stage([&]() -> Expected<void> {
    HistoryTransaction transaction(database);
    auto rename = database.prepare("UPDATE OR IGNORE branches SET name = ? WHERE name = ?");
    rename.run(name, former);
    rename.run(left_behind_branch(name), left_behind_branch(former));
    transaction.commit();
    return {};
  });
}

namespace {

// Finds the commit of results: that of the options, or that of their origin. An error if these
// differ, unless that of the options is trusted, or if the commit is not on the branch.
Expected<Commit> find_commit(const RecordingOptions& options, const std::string& branch,
                             const Origin& origin) {
  const Repository repository;
  const bool is_stated = !origin.commit.empty();
  const std::string stated = printable(short_hash(origin.commit));
  auto commit = repository.find(options.commit.value_or(is_stated ? origin.commit : "HEAD"));
  if (!commit && is_stated && !options.commit) {
    return fail_at({origin.file},
                   fmt::format("these results are of commit {}, which is not here", stated),
                   "git fetch or, if it was rewritten, name the new one with --commit and "
                   "--trust-commit");
  }
  if (!commit) return commit;
  if (is_stated && commit->hash != origin.commit && !options.trust_commit) {
    return fail_at(
        {origin.file},
        fmt::format("these results are of commit {}, not of {}", stated, short_hash(commit->hash)),
        "omit --commit or, if both are the same code, add --trust-commit");
  }
  TRY(repository.check_is_on(branch, *commit));
  return commit;
}

// An error if files were measured that are not of the commit.
Expected<void> check_strangers(const Origin& origin) {
  if (origin.strangers.empty()) return {};
  return fail_at({origin.file},
                 "files were measured that are not of the commit: " + list_some(origin.strangers),
                 "commit them and measure again or, if the commit's build makes them, add "
                 "--trust-commit");
}

std::string left_message(std::size_t commits, const std::string& branch) {
  return fmt::format("{} no longer among the first parents of {}: see the branch {}\n",
                     commits == 1 ? "1 commit is" : format_plural(commits, "commit") + " are",
                     printable(branch), printable(left_behind_branch(branch)));
}

}  // namespace

std::filesystem::path RecordingOptions::file() const {
  return history.value_or(default_history_file());
}

Expected<std::string> RecordingOptions::find_branch(const Repository& repository) const {
  return branch ? Expected<std::string>(*branch) : repository.branch();
}

OnContradiction RecordingOptions::on_contradiction() const {
  return replace ? OnContradiction::kReplace : OnContradiction::kRefuse;
}

Expected<Recording> Recording::open(const RecordingOptions& options,
                                    const std::vector<Origin>& origins) {
  TRY_ASSIGN(auto branch, options.find_branch(Repository()));
  std::map<std::string, Commit> commits;
  for (const Origin& origin : origins) {
    if (commits.contains(origin.commit)) continue;
    TRY_ASSIGN(commits[origin.commit], find_commit(options, branch, origin));
  }
  std::optional<SqlDatabase> database;
  std::error_code ignored;
  if (std::filesystem::exists(options.file(), ignored)) {
    TRY_ASSIGN(database, open_history(options.file(), SqlAccess::kCreate));
  } else {
    TRY(check_can_make_history(options.file()));
  }
  return Recording(options, std::move(branch), std::move(commits), std::move(database));
}

Expected<std::vector<std::string>> Recording::find_vary() const {
  return database_ ? resolve_vary(*database_, options_.vary) : options_.vary;
}

Expected<HistoryRun> Recording::make_run(const ResultSet& results) const {
  TRY_ASSIGN(const auto vary, find_vary());
  const ResultsHeader& header = results.results.header;
  const Origin origin{results.name, header.commit, header.strangers};
  if (!options_.trust_commit) TRY(check_strangers(origin));
  const auto known = commits_.find(origin.commit);
  TRY_ASSIGN(const auto commit, known != commits_.end() ? Expected<Commit>(known->second)
                                                        : find_commit(options_, branch_, origin));
  return instr::make_run(results, commit, branch_, vary, options_.trust_commit);
}

Expected<std::string> Recording::continue_series(const SqlDatabase& database,
                                                 const std::set<std::string>& line) const {
  TRY_ASSIGN(const auto former, find_former_name(database, branch_, line));
  if (!former) return "";
  const Repository repository;
  TRY_ASSIGN(const bool is_there, repository.has_branch(*former));
  if (is_there) return "";
  if (repository.was_renamed(*former, branch_)) {
    TRY(rename_branch(database, *former, branch_));
    return fmt::format("the branch {} is {} now: its series continue\n", printable(*former),
                       printable(branch_));
  }
  return fmt::format(
      "the series of {0} are new, those of {1} end: if {1} was renamed, continue them with "
      "--branch={2}\n",
      printable(branch_), printable(*former), shell_word(*former));
}

Expected<std::string> Recording::add(std::vector<HistoryRun> runs) const {
  TRY_ASSIGN(const auto vary, find_vary());
  std::optional<SqlDatabase> made;
  if (!database_) {
    TRY_ASSIGN(made, open_history(options_.file(), SqlAccess::kCreate));
  }
  const SqlDatabase& database = database_ ? *database_ : *made;
  std::set<std::string> commits;
  Commit last;
  for (const HistoryRun& run : runs) {
    commits.insert(run.commit.hash);
    if (run.commit.position >= last.position) last = run.commit;
  }
  std::string text;
  if (!runs.empty()) {
    TRY_ASSIGN(const auto line, Repository().list_first_parents(last.hash));
    TRY_ASSIGN(text, continue_series(database, line));
    TRY_ASSIGN(const auto left, move_left_behind(database, branch_, last, line));
    if (left > 0) text += left_message(left, branch_);
  }
  const std::string which = commits.size() == 1 ? "commit " + short_hash(*commits.begin())
                                                : format_plural(commits.size(), "commit");
  TRY_ASSIGN(const auto recorded,
             record(database, std::move(runs), options_.on_contradiction(), vary));
  return text + fmt::format("{}: {} on {}: {}\n", database.file().string(), which,
                            printable(branch_), to_string(recorded));
}

}  // namespace instr
