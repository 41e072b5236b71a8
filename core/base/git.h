// Commits, branches and working trees, as git reports them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/base/private_folder.h"
#include "core/base/process.h"

namespace instr {

// A commit's place on its branch. It depends on the commit alone, so commits may come in any order.
struct Place {
  std::int64_t position = 0;  // commits since the first one, by first parents
  std::uint64_t tie = 0;      // the first digits of its hash: orders commits of rewritten branches

  auto operator<=>(const Place&) const = default;
};

struct Commit {
  std::string hash;
  // Commits since the first one, by first parents, itself included: unlike dates, it only grows
  // along a branch.
  std::int64_t position = 0;
  std::int64_t authored = 0;  // seconds since 1970
  std::string subject;

  Place place() const;
};

// A file that is not of the commit that is checked out.
struct Stranger {
  fs::path file;
  std::string why;          // "is ignored by git"
  bool is_tracked = false;  // the commit has a file of that name
};

// "include/fast.h is ignored by git"
std::string to_string(const Stranger& stranger);

class Repository {
 public:
  explicit Repository(fs::path folder = ".") : folder_(std::move(folder)) {}

  // Returns the hash of "HEAD~2", a tag or the beginning of a hash.
  Expected<std::string> resolve(const std::string& revision) const;

  // Returns that commit. An error also if the clone is shallow, so that its position is unknown.
  Expected<Commit> find(const std::string& revision) const;

  // "0123abc Subject".
  Expected<std::string> summary(const std::string& hash) const;

  // Returns the hash of the commit at which two commits parted. An error if there are several, or
  // if the clone is shallow, so that it may be missing, unless one of the two is before the other.
  Expected<std::string> merge_base(const std::string& first, const std::string& second) const;

  Expected<bool> is_ancestor(const std::string& commit, const std::string& descendant) const;

  // Returns the text of a file at a commit, without the newlines at its end.
  Expected<std::string> file_at(const std::string& commit, const fs::path& file) const;

  // The name of the user who commits here.
  Expected<std::string> user() const;

  // The top folder of the working tree.
  Expected<fs::path> top() const;

  // The last tag among the ancestors of HEAD.
  Expected<std::string> last_release() const;

  // The branch that is checked out; an error if HEAD is detached.
  Expected<std::string> branch() const;

  // Returns whether the branch exists, here or in a remote.
  Expected<bool> has_branch(const std::string& branch) const;
  // Returns true if a branch that does not exist is known to be another one now: git has renamed it
  // here, or the other one is the usual branch of a remote, or there is no remote that may have it.
  bool was_renamed(const std::string& former, const std::string& branch) const;

  // An error if the branch exists, here or in a remote, and the commit is not among its first
  // parents.
  Expected<void> check_is_on(const std::string& branch, const Commit& commit) const;

  // Lists the hashes of "A..B" by first parents, A itself included, oldest first.
  Expected<std::vector<std::string>> list_commits(const std::string& range) const;

  // Lists the hashes of a commit and of its first parents.
  Expected<std::set<std::string>> list_first_parents(const std::string& hash) const;

  // Adds a working tree without a branch (CommitTree owns one).
  Expected<void> add_worktree(const fs::path& folder) const;
  // Forgets the working trees in private folders that are gone.
  void prune_worktrees() const;
  // Checks a commit out; untracked files stay. Submodules are taken from where they are checked out
  // in `project`; others stay empty. Returns the folders of those submodules in `project`.
  Expected<std::vector<fs::path>> check_out(const std::string& hash, const fs::path& project) const;

  // Lists those of the files that are not HEAD's, by their content: files in this working tree and
  // its submodules, whatever the index says of them, and files of another repository that it does
  // not ignore. A file in no repository, such as a header of the system, is none. Files that do not
  // exist are left out.
  Expected<std::vector<Stranger>> find_strangers(const std::set<fs::path>& files) const;

  // An error if a file that git tracks differs from HEAD.
  Expected<void> check_is_clean() const;

  // The hash of HEAD if it contains these files and no tracked file differs from it; else nothing.
  std::optional<std::string> find_commit_with(const std::vector<fs::path>& files) const;

 private:
  // Runs git, with `input` as its standard input. Returns its output; nothing if its answer is no:
  // it ended with status 1 without a message. An error has git's own words.
  Expected<std::optional<std::string>> ask_whether(std::vector<std::string> words,
                                                   std::string_view input) const;
  // Returns the output; no is an error, too.
  Expected<std::string> ask(std::vector<std::string> words) const;
  // An error if the clone is shallow. `consequence`: "a commit's place is unknown".
  Expected<void> check_is_whole(const char* consequence) const;
  Expected<void> compare_with_head(const std::vector<fs::path>& places,
                                   std::vector<Stranger>& strangers) const;
  bool is_source(const fs::path& place) const;
  Expected<std::string> find_difference_of_submodule(const fs::path& place) const;
  // Lists the refs of a branch, here and in remotes.
  Expected<std::vector<std::string>> list_refs(const std::string& branch) const;
  Expected<std::int64_t> count_commits(const std::string& revision) const;
  Expected<void> check_out_submodules(const fs::path& project,
                                      std::vector<fs::path>& submodules) const;
  // True if the commit is among the first parents of `ref`, which is at `position`.
  bool leads_to(const std::string& ref, std::int64_t position, const Commit& commit) const;

  fs::path folder_;
};

// Removes the variables with which git directs all git commands in a hook or an alias, whatever
// their folder, to one repository: each command is about that of its folder. To be called at the
// start of the program.
void leave_foreign_repository();

// The first 12 digits of a hash.
std::string short_hash(const std::string& hash);

// Seconds since 1970 -> "2026-01-02", in UTC.
std::string format_date(std::int64_t seconds);

// "2026-01-02T03:04:05Z" -> seconds since 1970; nothing if `time` has another form.
std::optional<std::int64_t> parse_time(const std::string& time);

// Working trees of commits other than the one that is checked out, and commands that run in them.

// A git worktree in a private folder, with worktrees of the submodules; removed with its owner.
class CommitTree {
 public:
  // `project`: the top folder of what is checked out.
  static Expected<CommitTree> make(const fs::path& project);
  CommitTree(CommitTree&&) noexcept = default;
  CommitTree& operator=(CommitTree&&) = delete;
  ~CommitTree();

  fs::path path() const { return folder_->path() / "tree"; }

  // May be called again for another commit: what was built for the previous one stays.
  Expected<void> check_out(const std::string& hash);

 private:
  CommitTree(fs::path project, PrivateFolder folder)
      : project_(std::move(project)), folder_(std::move(folder)) {}

  fs::path project_;
  std::optional<PrivateFolder> folder_;
  std::vector<fs::path> submodules_;  // those in the project
};

// A command to be run in the top folder of a tree. Every path below the project that it reads means
// the same file of that tree. Its output goes to standard error. `variables`: of its environment.
SpawnOptions command_in_tree(std::vector<std::string> words, const fs::path& tree,
                             const fs::path& project,
                             std::map<std::string, std::string> variables = {});

}  // namespace instr
