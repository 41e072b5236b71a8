#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/base/commit_tree.h"
#include "core/base/environment.h"
#include "core/base/format.h"
#include "core/base/output.h"
#include "core/commands/history_words.h"
#include "core/history/read.h"
#include "core/history/schema.h"

namespace instr {

namespace {

namespace fs = std::filesystem;

class Backfill {
 public:
  Backfill(const HistoryOptions& options, fs::path project, std::string branch,
           std::vector<std::string> commits, CommitTree& tree)
      : options_(options),
        project_(std::move(project)),
        branch_(std::move(branch)),
        commits_(std::move(commits)),
        tree_(tree),
        stop_(options.stop) {}

  Expected<void> all() {
    for (const std::string& commit : commits_) {
      TRY(measure(commit));
    }
    return {};
  }

  // Both ends, then the middle of each gap in which a count changed, until there is none.
  Expected<void> bisect() {
    for (const std::string& end : {commits_.front(), commits_.back()}) {
      TRY(measure(end));
    }
    for (;;) {
      TRY_ASSIGN(auto next, next_in_gaps());
      if (!next || stop_.stop_requested()) return {};
      TRY(measure(*next));
    }
  }

  ExitStatus report() const {
    print_message(fmt::format(
        "{} measured, {} there already, {} could not be{}\n", format_plural(measured_, "commit"),
        known_, failed_,
        incomplete_ == 0 ? "" : fmt::format("; in {} of them benchmarks failed", incomplete_)));
    if (stop_.stop_requested()) return kInterrupted;
    return failed_ == 0 && incomplete_ == 0 ? kGood : kNotMeasured;
  }

 private:
  // Of commits that an earlier call recorded nothing is done. One that cannot be built or measured
  // is reported, and others go on.
  Expected<void> measure(const std::string& commit) {
    if (stop_.stop_requested() || !tried_.insert(commit).second) return {};
    TRY_ASSIGN(const auto known, failures(commit));
    if (known) {
      ++known_;
      note(commit, *known);
      return {};
    }
    print_message(fmt::format("commit {}\n", short_hash(commit)));
    TRY(tree_.check_out(commit));
    TRY_ASSIGN(auto built, run({"sh", "-c", options_.make.value_or("true")}));
    if (built) {
      TRY(run(measuring()));
    }
    if (stop_.stop_requested()) return {};
    // A run in which some benchmarks failed is recorded, too.
    TRY_ASSIGN(const auto recorded, failures(commit));
    if (!recorded) {
      print_message(fmt::format("commit {} {}\n", short_hash(commit),
                                built ? "cannot be measured" : "does not build"));
      ++failed_;
      return {};
    }
    ++measured_;
    note(commit, *recorded);
    return {};
  }

  void note(const std::string& commit, std::int64_t failures) {
    if (failures == 0) return;
    ++incomplete_;
    print_message(fmt::format("commit {}: {} failed\n", short_hash(commit),
                              format_plural(static_cast<std::size_t>(failures), "benchmark")));
  }

  std::vector<std::string> measuring() const {
    std::vector<std::string> words{own_program(), "--record", "--history=" + file().string(),
                                   "--branch=" + branch_};
    words.insert(words.end(), options_.rest.begin(), options_.rest.end());
    return words;
  }

  fs::path file() const { return fs::absolute(options_.recording.file()); }

  Expected<bool> run(std::vector<std::string> words) const {
    return run_to_end(command_in_tree(std::move(words), tree_.path(), project_), stop_)
        .map([](int status) { return status == 0; });
  }

  // How many benchmarks failed at the commit; nothing if it is not in the history.
  Expected<std::optional<std::int64_t>> failures(const std::string& commit) const {
    std::error_code ignored;
    if (!fs::exists(file(), ignored)) return std::nullopt;
    TRY_ASSIGN(const auto database, open_history(file(), SqlAccess::kRead));
    return count_failures(database, branch_, commit);
  }

  // Nothing if every step is at the commit that made it, as far as commits can be measured.
  Expected<std::optional<std::string>> next_in_gaps() const {
    TRY_ASSIGN(auto database, open_history(file(), SqlAccess::kRead));
    TRY_ASSIGN(auto gaps, read_open_steps(database, branch_));
    for (const OpenStep& gap : gaps) {
      auto before = std::find(commits_.begin(), commits_.end(), gap.before);
      auto after = std::find(commits_.begin(), commits_.end(), gap.after);
      if (before == commits_.end() || after == commits_.end()) continue;
      if (auto middle = middle_of(before, after)) return middle;
    }
    return std::nullopt;
  }

  using At = std::vector<std::string>::const_iterator;

  // The commit nearest to the middle that was not tried in vain; the ends are not in it.
  std::optional<std::string> middle_of(At before, At after) const {
    std::vector<std::string> between;
    std::copy_if(before + 1, after, std::back_inserter(between),
                 [this](const std::string& one) { return !tried_.contains(one); });
    if (between.empty()) return std::nullopt;
    return between[between.size() / 2];
  }

  const HistoryOptions& options_;
  const fs::path project_;  // the top folder of what is checked out
  const std::string branch_;
  const std::vector<std::string> commits_;
  CommitTree& tree_;
  const std::stop_token stop_;
  std::size_t measured_ = 0;
  std::size_t known_ = 0;
  std::size_t failed_ = 0;
  std::size_t incomplete_ = 0;  // measured or there already, with benchmarks that failed
  std::set<std::string> tried_;
};

}  // namespace

ExpectedStatus history_backfill(const HistoryOptions& options) {
  leave_git_hook();
  const Repository repository;
  TRY_ASSIGN(auto branch, options.recording.find_branch(repository));
  TRY_ASSIGN(auto commits, repository.list_commits(options.operands.front()));
  TRY_ASSIGN(auto project, repository.top());
  TRY_ASSIGN(auto tree, CommitTree::make(project));
  Backfill work(options, std::move(project), branch, std::move(commits), tree);
  TRY(options.bisect ? work.bisect() : work.all());
  return work.report();
}

}  // namespace instr
