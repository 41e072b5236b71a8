// Results of a commit into a history: which commit, which file, checked before there are results.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/compare/compare.h"
#include "core/history/record.h"
#include "core/results/result_set.h"

namespace instr {

struct RecordingOptions {
  std::optional<std::filesystem::path> history = {};  // nothing: the project's
  std::optional<std::string> commit = {};             // nothing: what results say, or HEAD
  std::optional<std::string> branch = {};             // nothing: the one checked out
  std::vector<std::string> vary = {};
  bool trust_commit = false;  // though results seem to be older, or say another
  bool replace = false;       // other counts of the commit

  std::filesystem::path file() const;
  Expected<std::string> branch_in(const Repository& repository) const;
  OnContradiction on_contradiction() const;
};

// What results say of themselves.
struct Origin {
  std::string file = {};    // for messages
  std::string commit = {};  // that was measured; empty: they do not say
};

class Recording {
 public:
  // Finds the commits of results, by default the one of the options, and opens the history, which
  // is made if there is none.
  static Expected<Recording> open(const RecordingOptions& options,
                                  const std::vector<Origin>& origins = {{}});

  // As they can be added.
  Expected<HistoryRun> run_of(const ResultSet& results) const;

  // All of them or, on an error, none. Returns what to say about it, with a newline.
  Expected<std::string> add(std::vector<HistoryRun> runs) const;

 private:
  Recording(RecordingOptions options, std::string branch, std::map<std::string, Commit> commits,
            SqlDatabase database)
      : options_(std::move(options)),
        branch_(std::move(branch)),
        commits_(std::move(commits)),
        database_(std::move(database)) {}

  // The commit of results: the one that they say, or that of the options. An error if these are
  // two, unless the options' is trusted, or if it is not on the branch.
  Expected<Commit> commit_of(const Origin& origin) const;

  RecordingOptions options_;
  std::string branch_;
  std::map<std::string, Commit> commits_;  // by what results say
  SqlDatabase database_;
};

// A results file as a run to be recorded: everything that was counted or timed. An error if the
// results do not say what they were measured with, or are older than the commit, unless that is
// trusted: its author had not written it yet.
Expected<HistoryRun> run_of(const ResultSet& results, const Commit& commit,
                            const std::string& branch, const std::vector<std::string>& vary,
                            bool is_commit_trusted);

}  // namespace instr
