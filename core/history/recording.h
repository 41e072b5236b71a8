// Results of a commit into a history: which commit, which file, checked before there are results.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/compare/compare.h"
#include "core/history/record.h"

namespace instr {

struct RecordingOptions {
  std::optional<std::filesystem::path> history = {};  // nothing: the project's
  std::string commit = "HEAD";
  std::optional<std::string> branch = {};  // nothing: the one checked out
  std::vector<std::string> vary = {};
  bool trust_commit = false;  // though results seem to be older
  bool replace = false;       // other counts of the commit

  std::filesystem::path file() const;
  Expected<std::string> branch_in(const Repository& repository) const;
  OnContradiction on_contradiction() const;
};

class Recording {
 public:
  // Finds the commit, and opens the history, which is made if there is none.
  static Expected<Recording> open(const RecordingOptions& options);

  // All of them or, on an error, none. Returns what to say about it, with a newline.
  Expected<std::string> add(const std::vector<ResultSet>& results) const;
  Expected<std::string> add(std::vector<HistoryRun> runs) const;

  const Commit& commit() const { return commit_; }
  const std::string& branch() const { return branch_; }

 private:
  Recording(RecordingOptions options, Commit commit, std::string branch, SqlDatabase database)
      : options_(std::move(options)),
        commit_(std::move(commit)),
        branch_(std::move(branch)),
        database_(std::move(database)) {}

  RecordingOptions options_;
  Commit commit_;
  std::string branch_;
  SqlDatabase database_;
};

}  // namespace instr
