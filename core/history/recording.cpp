#include "core/history/recording.h"

#include <fmt/format.h>

#include <set>

#include "core/base/format.h"
#include "core/base/shell.h"
#include "core/history/left_behind.h"
#include "core/history/renamed_branch.h"
#include "core/history/schema.h"

namespace instr {

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
