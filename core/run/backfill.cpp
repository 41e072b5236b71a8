#include "core/run/backfill.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/base/environment.h"
#include "core/base/format.h"
#include "core/base/git.h"
#include "core/base/output.h"
#include "core/base/text.h"
#include "core/history/read.h"
#include "core/history/schema.h"

namespace instr {

namespace {

class Backfill {
 public:
  Backfill(const BackfillOptions& options, fs::path project, std::vector<std::string> commits,
           CommitTree& tree, std::stop_token stop)
      : options_(options),
        project_(std::move(project)),
        commits_(std::move(commits)),
        tree_(tree),
        stop_(std::move(stop)) {}

  Expected<void> measure_all() {
    for (const std::string& commit : commits_) {
      TRY(measure(commit));
    }
    return {};
  }

  // Measures both ends, then the middle of each gap in which a count changed, until none is left.
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
  // Skips commits that are recorded already. A commit that cannot be built or measured is reported.
  Expected<void> measure(const std::string& commit) {
    if (stop_.stop_requested() || !tried_.insert(commit).second) return {};
    TRY_ASSIGN(const auto known, find_failures(commit));
    if (known) {
      ++known_;
      remember(commit, *known);
      return {};
    }
    print_message(fmt::format("commit {}\n", short_hash(commit)));
    TRY(tree_.check_out(commit));
    TRY_ASSIGN(auto built, run(bash_command(options_.make)));
    if (built) {
      std::vector<std::string> words{own_program(), "--record",
                                     "--history=" + options_.history.string(),
                                     "--branch=" + options_.branch};
      words.insert(words.end(), options_.run_options.begin(), options_.run_options.end());
      TRY(run(std::move(words)));
    }
    if (stop_.stop_requested()) return {};
    // A run in which some benchmarks failed is recorded, too.
    TRY_ASSIGN(const auto recorded, find_failures(commit));
    if (!recorded) {
      print_message(fmt::format("commit {} {}\n", short_hash(commit),
                                built ? "cannot be measured" : "does not build"));
      ++failed_;
      return {};
    }
    ++measured_;
    remember(commit, *recorded);
    return {};
  }

  void remember(const std::string& commit, std::int64_t failures) {
    if (failures == 0) return;
    ++incomplete_;
    print_message(fmt::format("commit {}: {} failed\n", short_hash(commit),
                              format_plural(static_cast<std::size_t>(failures), "benchmark")));
  }

  Expected<bool> run(std::vector<std::string> words) const {
    return run_to_end(command_in_tree(std::move(words), tree_.path(), project_), stop_)
        .map([](int status) { return status == 0; });
  }

  // Returns how many benchmarks failed at the commit; nothing if it is not in the history.
  Expected<std::optional<std::int64_t>> find_failures(const std::string& commit) const {
    std::error_code ignored;
    if (!fs::exists(options_.history, ignored)) return std::nullopt;
    TRY_ASSIGN(const auto database, open_history(options_.history, SqlAccess::kRead));
    return count_failures(database, options_.branch, commit);
  }

  // Returns the next commit to measure; nothing if each step is attributed to a commit, as far as
  // commits can be measured.
  Expected<std::optional<std::string>> next_in_gaps() const {
    TRY_ASSIGN(auto database, open_history(options_.history, SqlAccess::kRead));
    TRY_ASSIGN(auto gaps, read_open_steps(database, options_.branch));
    for (const OpenStep& gap : gaps) {
      auto before = std::find(commits_.begin(), commits_.end(), gap.before);
      auto after = std::find(commits_.begin(), commits_.end(), gap.after);
      if (before == commits_.end() || after == commits_.end()) continue;
      if (auto middle = find_middle(before, after)) return middle;
    }
    return std::nullopt;
  }

  using At = std::vector<std::string>::const_iterator;

  // Returns the middle of the commits between these that were not tried yet.
  std::optional<std::string> find_middle(At before, At after) const {
    std::vector<std::string> between;
    std::copy_if(before + 1, after, std::back_inserter(between),
                 [this](const std::string& hash) { return !tried_.contains(hash); });
    if (between.empty()) return std::nullopt;
    return between[between.size() / 2];
  }

  const BackfillOptions& options_;
  const fs::path project_;  // the top folder of what is checked out
  const std::vector<std::string> commits_;
  CommitTree& tree_;
  const std::stop_token stop_;
  std::size_t measured_ = 0;
  std::size_t known_ = 0;
  std::size_t failed_ = 0;
  std::size_t incomplete_ = 0;  // measured or known, with benchmarks that failed
  std::set<std::string> tried_;
};

}  // namespace

ExpectedStatus backfill(const BackfillOptions& options, std::stop_token stop) {
  const Repository repository;
  TRY_ASSIGN(auto commits, repository.list_commits(options.range));
  TRY_ASSIGN(auto project, repository.top());
  TRY_ASSIGN(auto tree, CommitTree::make(project));
  Backfill work(options, std::move(project), std::move(commits), tree, std::move(stop));
  TRY(options.bisect ? work.bisect() : work.measure_all());
  return work.report();
}

}  // namespace instr
