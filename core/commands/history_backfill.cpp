#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "core/base/format.h"
#include "core/base/output.h"
#include "core/base/private_folder.h"
#include "core/base/process.h"
#include "core/commands/history.h"
#include "core/history/read.h"
#include "core/history/schema.h"

namespace instr {

namespace {

namespace fs = std::filesystem;

// How long an interrupted build or run may take to clean up.
constexpr std::chrono::seconds kBackfillStopGrace{10};

// A working tree of its own for the commits that are measured; the next one is built on what the
// one before left, as git bisect does it.
class WorkTree {
 public:
  static Expected<WorkTree> make(const Repository& repository) {
    TRY_ASSIGN(auto folder, PrivateFolder::make());
    TRY(repository.add_worktree(folder.path() / "tree"));
    return WorkTree(repository, std::move(folder));
  }
  WorkTree(WorkTree&& other) noexcept
      : repository_(std::move(other.repository_)),
        folder_(std::exchange(other.folder_, std::nullopt)) {}
  ~WorkTree() {
    if (folder_) (void)repository_.remove_worktree(path());
  }

  fs::path path() const { return folder_->path() / "tree"; }
  Expected<void> check_out(const std::string& hash) const {
    return Repository(path()).check_out(hash);
  }

 private:
  WorkTree(Repository repository, PrivateFolder folder)
      : repository_(std::move(repository)), folder_(std::move(folder)) {}

  Repository repository_;
  std::optional<PrivateFolder> folder_;
};

class Backfill {
 public:
  Backfill(const HistoryOptions& options, std::string branch, std::vector<std::string> commits,
           const WorkTree& tree)
      : options_(options),
        branch_(std::move(branch)),
        commits_(std::move(commits)),
        tree_(tree),
        stop_(options.stop) {}

  Expected<void> all() {
    for (const std::string& commit : commits_) {
      if (auto done = measure(commit); !done) return done;
    }
    return {};
  }

  // Both ends, then the middle of each gap in which a count changed, until there is none.
  Expected<void> bisect() {
    for (const std::string& end : {commits_.front(), commits_.back()}) {
      if (auto done = measure(end); !done) return done;
    }
    for (;;) {
      TRY_ASSIGN(auto next, next_in_gaps());
      if (!next || stop_.stop_requested()) return {};
      if (auto done = measure(*next); !done) return done;
    }
  }

  ExitStatus report() const {
    print_message(fmt::format("{} measured, {} there already, {} could not be\n",
                              format_plural(measured_, "commit"), known_, failed_));
    if (stop_.stop_requested()) return kInterrupted;
    return failed_ == 0 ? kGood : kNotMeasured;
  }

 private:
  // Of commits that an earlier call recorded nothing is done. One that cannot be built or measured
  // is reported, and others go on.
  Expected<void> measure(const std::string& commit) {
    if (stop_.stop_requested() || !tried_.insert(commit).second) return {};
    TRY_ASSIGN(auto recorded, is_recorded(commit));
    if (recorded) {
      ++known_;
      return {};
    }
    print_message(fmt::format("commit {}\n", short_hash(commit)));
    if (auto out = tree_.check_out(commit); !out) return out;
    TRY_ASSIGN(auto built, run({"sh", "-c", options_.make.value_or("true")}));
    TRY_ASSIGN(auto good, built ? run(measuring()) : Expected<bool>(false));
    if (stop_.stop_requested()) return {};
    if (!good) {
      print_message(fmt::format("commit {} {}\n", short_hash(commit),
                                built ? "cannot be measured" : "does not build"));
      ++failed_;
      return {};
    }
    ++measured_;
    return {};
  }

  std::vector<std::string> measuring() const {
    std::error_code ignored;
    std::vector<std::string> words{fs::read_symlink("/proc/self/exe", ignored).string(), "--record",
                                   "--history=" + file().string(), "--branch=" + branch_};
    words.insert(words.end(), options_.rest.begin(), options_.rest.end());
    return words;
  }

  fs::path file() const { return fs::absolute(options_.recording.file()); }

  Expected<bool> run(std::vector<std::string> words) const {
    SpawnOptions spawn;
    spawn.argv = std::move(words);
    spawn.working_directory = tree_.path();
    spawn.descriptors = {{STDERR_FILENO, 1}, {STDERR_FILENO, 2}};
    TRY_ASSIGN(auto process, Process::spawn(spawn));
    auto status = process.wait(stop_);
    if (!status) process.stop(kBackfillStopGrace);
    return status && exit_code_of(*status) == 0;
  }

  Expected<bool> is_recorded(const std::string& commit) const {
    std::error_code ignored;
    if (!fs::exists(file(), ignored)) return false;
    return open_history(file(), SqlAccess::kRead).and_then([&](const SqlDatabase& database) {
      return is_measured(database, branch_, commit);
    });
  }

  // Nothing if every step is at the commit that made it, as far as commits can be measured.
  Expected<std::optional<std::string>> next_in_gaps() const {
    TRY_ASSIGN(auto database, open_history(file(), SqlAccess::kRead));
    TRY_ASSIGN(auto gaps, open_steps(database, branch_));
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
  const std::string branch_;
  const std::vector<std::string> commits_;
  const WorkTree& tree_;
  const std::stop_token stop_;
  std::size_t measured_ = 0;
  std::size_t known_ = 0;
  std::size_t failed_ = 0;
  std::set<std::string> tried_;
};

}  // namespace

ExpectedStatus history_backfill(const HistoryOptions& options) {
  const Repository repository;
  TRY_ASSIGN(auto branch, options.recording.branch_in(repository));
  TRY_ASSIGN(auto commits, repository.commits_of(options.operands.front()));
  TRY_ASSIGN(auto tree, WorkTree::make(repository));
  Backfill work(options, branch, std::move(commits), tree);
  TRY(options.bisect ? work.bisect() : work.all());
  return work.report();
}

}  // namespace instr
