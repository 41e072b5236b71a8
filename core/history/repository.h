// What git says of commits: which one a name means, and its place on its branch.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "core/base/error.h"
#include "core/history/steps.h"

namespace instr {

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

  // An error if HEAD is detached.
  Expected<std::string> branch() const;

  // An error if the branch is known here, or by a remote, and none of its first parents is the
  // commit.
  Expected<void> check_is_on(const std::string& branch, const Commit& commit) const;

  // An error if a file that git knows differs from HEAD.
  Expected<void> check_is_clean() const;

 private:
  Expected<std::string> ask(std::vector<std::string> words) const;
  Expected<std::int64_t> position_of(const std::string& revision) const;

  std::filesystem::path folder_;
};

// The first 12 digits of a hash.
std::string short_hash(const std::string& hash);

// "2026-01-02" of seconds since 1970, in UTC.
std::string date_text(std::int64_t seconds);

// Seconds since 1970 of "2026-01-02T03:04:05Z", or of the day alone; nothing if it is neither.
std::optional<std::int64_t> seconds_of(const std::string& utc);

}  // namespace instr
