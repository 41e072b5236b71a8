// Commits that a branch has left: after a rewrite, or a merge the wrong way round, they are no
// longer among its first parents.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/git.h"
#include "core/base/sqlite.h"
#include "core/history/record.h"
#include "core/results/result_set.h"

namespace instr {

// Returns the name of the branch that keeps their runs: "main/left-behind".
std::string left_behind_branch(const std::string& branch);

// Returns whether this is such a name.
bool is_left_behind(const std::string& branch);

// Moves the runs of commits that the branch has left to left_behind_branch(), so that each step is
// between commits that follow each other. `line`: the hashes of `last` and of its first parents.
// Moves all or, on an error, none, and returns the number of commits moved.
Expected<std::size_t> move_left_behind(const SqlDatabase& database, const std::string& branch,
                                       const Commit& last, const std::set<std::string>& line);

// Branches that were renamed, such as master to main: their series continue under the new name.

// Returns the branch that a branch without runs may have been before: the one whose last measured
// commit is the newest in `line`, the hashes of a commit of the new branch and of its first
// parents.
Expected<std::optional<std::string>> find_former_name(const SqlDatabase& database,
                                                      const std::string& branch,
                                                      const std::set<std::string>& line);

// Gives a branch, with what it has left behind, a name that no branch of the history has.
Expected<void> rename_branch(const SqlDatabase& database, const std::string& former,
                             const std::string& name);

// Adds results of a commit to a history. The commit and the file are checked beforehand.

struct RecordingOptions {
  std::optional<std::filesystem::path> history = {};  // nothing: that of the project
  std::optional<std::string> commit = {};             // nothing: that of the results, or HEAD
  std::optional<std::string> branch = {};             // nothing: the one checked out
  std::vector<std::string> vary = {};
  bool trust_commit = false;  // accepts results that are older, or that name another commit
  bool replace = false;       // replaces other counts of the commit

  std::filesystem::path file() const;
  Expected<std::string> find_branch(const Repository& repository) const;
  OnContradiction on_contradiction() const;
};

// The origin of results, as they state it.
struct Origin {
  std::string file = {};                    // shown in messages
  std::string commit = {};                  // the measured commit; empty: not stated
  std::vector<std::string> strangers = {};  // see ResultsHeader::strangers
};

class Recording {
 public:
  // Finds the commits of results, by default that of the options, and opens the history, if there
  // is one: add() makes it, so that results that are refused leave none.
  static Expected<Recording> open(const RecordingOptions& options,
                                  const std::vector<Origin>& origins = {{}});

  // Makes a run that add() can record.
  Expected<HistoryRun> make_run(const ResultSet& results) const;

  // Records all runs or, on an error, none. Returns a message for the user, with a newline.
  Expected<std::string> add(std::vector<HistoryRun> runs) const;

 private:
  Recording(RecordingOptions options, std::string branch, std::map<std::string, Commit> commits,
            std::optional<SqlDatabase> database)
      : options_(std::move(options)),
        branch_(std::move(branch)),
        commits_(std::move(commits)),
        database_(std::move(database)) {}

  Expected<std::vector<std::string>> find_vary() const;
  // Gives the series of a branch that was renamed to this one its name. Returns a message, or "".
  Expected<std::string> continue_series(const SqlDatabase& database,
                                        const std::set<std::string>& line) const;

  RecordingOptions options_;
  std::string branch_;
  std::map<std::string, Commit> commits_;  // key: Origin::commit
  std::optional<SqlDatabase> database_;    // nothing: to be made
};

// Makes a run of results, with everything that was counted or timed. An error if the results have
// no fingerprint, or are older than the commit, which then did not exist, unless that is trusted.
Expected<HistoryRun> make_run(const ResultSet& results, const Commit& commit,
                              const std::string& branch, const std::vector<std::string>& vary,
                              bool is_commit_trusted);

}  // namespace instr
