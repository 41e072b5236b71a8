// What git says of commits: which one a name means, and its place on its branch.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace instr {

// A commit's place on its branch. It depends on the commit alone, so commits may come in any order.
struct Place {
  std::int64_t position = 0;  // commits since the first one, by first parents
  std::uint64_t tie = 0;      // the beginning of its hash, where a branch was rewritten

  auto operator<=>(const Place&) const = default;
};

struct Commit {
  std::string hash;
  // Commits since the first one, by first parents, itself included: on a branch it only grows,
  // whatever clocks say.
  std::int64_t position = 0;
  std::int64_t authored = 0;  // seconds since 1970
  std::string subject;

  Place place() const;
};

class Repository {
 public:
  explicit Repository(std::filesystem::path folder = ".") : folder_(std::move(folder)) {}

  // "HEAD~2", a tag, a beginning of a hash. An error if there is none, or if the clone is shallow,
  // so that its position is unknown.
  Expected<Commit> find(const std::string& revision) const;

  // The name of who commits here.
  Expected<std::string> user() const;

  // The top folder of the working tree.
  Expected<std::filesystem::path> top() const;

  // The last tag that HEAD has.
  Expected<std::string> last_release() const;

  // An error if HEAD is detached.
  Expected<std::string> branch() const;

  // An error if the branch is known here, or by a remote, and none of its first parents is the
  // commit.
  Expected<void> check_is_on(const std::string& branch, const Commit& commit) const;

  // The hashes of "A..B" by first parents, A itself included, oldest first.
  Expected<std::vector<std::string>> commits_of(const std::string& range) const;

  // The hashes of a commit and of its first parents.
  Expected<std::set<std::string>> line_of(const std::string& hash) const;

  // A working tree without a branch, and its end.
  Expected<void> add_worktree(const std::filesystem::path& folder) const;
  Expected<void> remove_worktree(const std::filesystem::path& folder) const;
  // Files that git does not know stay. Submodules are taken from where they are checked out in
  // `project`; those that are not, stay empty here, too.
  Expected<void> check_out(const std::string& hash, const std::filesystem::path& project) const;

  // An error if a file that git knows differs from HEAD.
  Expected<void> check_is_clean() const;

  // The hash of HEAD if these files are in it and nothing differs from it; else nothing.
  std::optional<std::string> commit_of(const std::vector<std::filesystem::path>& files) const;

 private:
  Expected<std::string> ask(std::vector<std::string> words) const;
  Expected<std::int64_t> position_of(const std::string& revision) const;
  Expected<void> check_out_submodules(const std::filesystem::path& project) const;
  Expected<void> check_is_behind(const Commit& last, const Commit& commit) const;

  std::filesystem::path folder_;
};

// The first 12 digits of a hash.
std::string short_hash(const std::string& hash);

// "2026-01-02" of seconds since 1970, in UTC.
std::string date_text(std::int64_t seconds);

// Seconds since 1970 of "2026-01-02T03:04:05Z"; nothing if `time` has another form.
std::optional<std::int64_t> seconds_of(const std::string& time);

}  // namespace instr
