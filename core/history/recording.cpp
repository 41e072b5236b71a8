#include "core/history/recording.h"

#include <fmt/format.h>

#include <set>

#include "core/base/format.h"
#include "core/history/left_behind.h"
#include "core/history/schema.h"

namespace instr {

namespace {

Expected<Commit> find_commit(const RecordingOptions& options, const std::string& branch,
                             const Origin& origin) {
  const auto refuse = [&origin](std::string what, std::string advice) {
    return tl::unexpected(Error{{origin.file}, std::move(what), std::move(advice)});
  };
  const Repository repository;
  const bool is_said = !origin.commit.empty();
  const std::string said = printable(short_hash(origin.commit));
  auto commit = repository.find(options.commit.value_or(is_said ? origin.commit : "HEAD"));
  if (!commit && is_said && !options.commit) {
    return refuse(fmt::format("these results are of commit {}, which is not here", said),
                  "git fetch or, if it was rewritten, name the new one with --commit and "
                  "--trust-commit");
  }
  if (!commit) return commit;
  if (is_said && commit->hash != origin.commit && !options.trust_commit) {
    return refuse(
        fmt::format("these results are of commit {}, not of {}", said, short_hash(commit->hash)),
        "omit --commit or, if both are the same code, add --trust-commit");
  }
  TRY(repository.check_is_on(branch, *commit));
  return commit;
}

std::string left_text(std::size_t commits, const std::string& branch) {
  return fmt::format("{} no longer among the first parents of {}: see the branch {}\n",
                     commits == 1 ? "1 commit is" : format_plural(commits, "commit") + " are",
                     printable(branch), printable(left_behind(branch)));
}

}  // namespace

std::filesystem::path RecordingOptions::file() const { return history.value_or(usual_history()); }

Expected<std::string> RecordingOptions::branch_in(const Repository& repository) const {
  return branch ? Expected<std::string>(*branch) : repository.branch();
}

OnContradiction RecordingOptions::on_contradiction() const {
  return replace ? OnContradiction::kReplace : OnContradiction::kRefuse;
}

Expected<Recording> Recording::open(const RecordingOptions& options,
                                    const std::vector<Origin>& origins) {
  TRY_ASSIGN(auto branch, options.branch_in(Repository()));
  std::map<std::string, Commit> commits;
  for (const Origin& origin : origins) {
    if (commits.contains(origin.commit)) continue;
    TRY_ASSIGN(commits[origin.commit], find_commit(options, branch, origin));
  }
  return open_history(options.file(), SqlAccess::kCreate).map([&](SqlDatabase&& database) {
    return Recording(options, std::move(branch), std::move(commits), std::move(database));
  });
}

Expected<Commit> Recording::commit_of(const Origin& origin) const {
  auto known = commits_.find(origin.commit);
  return known != commits_.end() ? known->second : find_commit(options_, branch_, origin);
}

Expected<HistoryRun> Recording::run_of(const ResultSet& results) const {
  TRY_ASSIGN(auto vary, vary_of(database_, options_.vary));
  return commit_of({results.name, results.results.header.commit})
      .and_then([&](const Commit& commit) {
        return instr::run_of(results, commit, branch_, vary, options_.trust_commit);
      });
}

Expected<std::string> Recording::add(std::vector<HistoryRun> runs) const {
  TRY_ASSIGN(auto vary, vary_of(database_, options_.vary));
  std::set<std::string> commits;
  Commit last;
  for (const HistoryRun& run : runs) {
    commits.insert(run.commit.hash);
    if (run.commit.position >= last.position) last = run.commit;
  }
  std::string text;
  if (!runs.empty()) {
    TRY_ASSIGN(const auto line, Repository().list_first_parents(last.hash));
    TRY_ASSIGN(const auto left, leave_behind(database_, branch_, last, line));
    if (left > 0) text = left_text(left, branch_);
  }
  const std::string which = commits.size() == 1 ? "commit " + short_hash(*commits.begin())
                                                : format_plural(commits.size(), "commit");
  return record(database_, std::move(runs), options_.on_contradiction(), vary)
      .map([&](const Recorded& recorded) {
        return text + fmt::format("{}: {} on {}: {}\n", database_.file().string(), which,
                                  printable(branch_), to_string(recorded));
      });
}

}  // namespace instr
