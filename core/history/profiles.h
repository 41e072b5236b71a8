// The numbers of the rows of a table that contain texts.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/sqlite.h"
#include "core/compare/attribution.h"
#include "core/history/read.h"
#include "core/history/timeline.h"
#include "core/profile/call_tree.h"
#include "core/results/measurement.h"

namespace instr {

class Dictionary {
 public:
  // Statements with a parameter for each text.
  Dictionary(const SqlDatabase& database, const char* find, const char* add)
      : database_(database), find_(database.prepare(find)), add_(database.prepare(add)) {}

  // Returns the number of the row with these texts, which is added if it is missing.
  template <class... Texts>
  std::int64_t find_or_add(const Texts&... texts) {
    auto [known, is_new] = known_.try_emplace(((texts + '\0') + ...), 0);
    if (!is_new) return known->second;
    if (find_.start(texts...).step()) {
      known->second = find_.integer(0);
    } else {
      add_.run(texts...);
      known->second = database_.last_id();
    }
    return known->second;
  }

 private:
  const SqlDatabase& database_;
  SqlStatement find_;
  SqlStatement add_;
  std::unordered_map<std::string, std::int64_t> known_;
};

// The profiles of steps as a history keeps them: the functions, and the cost of each path of calls,
// of the whole count, so that any two steps can be compared. A table of its own has the names.

class Profiles {
 public:
  explicit Profiles(const SqlDatabase& database) : database_(database) {}

  // `tree`: null if it is not known.
  void write(std::int64_t series, std::int64_t commit, const std::vector<FunctionCost>& functions,
             const CallTree* tree);
  void copy(std::int64_t series, std::int64_t from_commit, std::int64_t to_commit);

  // Both throw an SqlError if what they read is damaged.
  std::vector<FunctionCost> read(std::int64_t series, std::int64_t commit);  // empty: not recorded
  std::shared_ptr<const CallTree> read_call_tree(std::int64_t series,
                                                 std::int64_t commit);  // null: not recorded

  // Removes names that no profile uses any more.
  void remove_unused_names();

 private:
  // The number of a function, its instructions and calls.
  using Cost = std::tuple<std::int64_t, double, double>;

  std::vector<Cost> unpack_costs(const std::string& bytes) const;

  const SqlDatabase& database_;
  Dictionary names_{database_, "SELECT id FROM functions WHERE name = ? AND library = ?",
                    "INSERT INTO functions (name, library) VALUES (?, ?)"};
  SqlStatement find_name_ = database_.prepare("SELECT name, library FROM functions WHERE id = ?");
  SqlStatement write_ = database_.prepare("INSERT OR REPLACE INTO profiles VALUES (?, ?, ?, ?)");
  SqlStatement copy_ = database_.prepare(
      "INSERT OR REPLACE INTO profiles SELECT series_id, ?3, functions, call_tree FROM profiles"
      " WHERE series_id = ?1 AND commit_id = ?2");
  SqlStatement remove_ =
      database_.prepare("DELETE FROM profiles WHERE series_id = ? AND commit_id = ?");
  SqlStatement read_ =
      database_.prepare("SELECT functions FROM profiles WHERE series_id = ? AND commit_id = ?");
  SqlStatement read_tree_ =
      database_.prepare("SELECT call_tree FROM profiles WHERE series_id = ? AND commit_id = ?");
};

// The steps of a series in the tables of a history, with their profiles.
class StepsTable {
 public:
  explicit StepsTable(const SqlDatabase& database) : database_(database) {}

  // Returns the numbers of the exact series of a branch.
  std::vector<std::int64_t> read_series(std::int64_t branch);

  Steps read(std::int64_t series, const Timeline& timeline);

  // Replaces the steps `before` by `after`. A new step gets the profile of the step that held there
  // before.
  void write(std::int64_t series, const Timeline& timeline, const Steps& before,
             const Steps& after);

  Profiles& profiles() { return profiles_; }

 private:
  const SqlDatabase& database_;
  SqlStatement read_series_ =
      database_.prepare("SELECT id FROM series WHERE branch_id = ? AND is_exact = 1");
  SqlStatement read_ = database_.prepare("SELECT commit_id, value FROM steps WHERE series_id = ?");
  SqlStatement put_ = database_.prepare(
      "INSERT INTO steps (series_id, commit_id, value) VALUES (?, ?, ?)"
      " ON CONFLICT DO UPDATE SET value = ?3");
  SqlStatement remove_ =
      database_.prepare("DELETE FROM steps WHERE series_id = ? AND commit_id = ?");
  Profiles profiles_{database_};
};

// Reads which functions changed at a step, fastest for the steps of one series in their order. Both
// functions throw an SqlError if the profiles are damaged, and return nothing if the step is of
// another metric than instructions, or a side has no profile.
class StepFunctions {
 public:
  explicit StepFunctions(const SqlDatabase& database) : profiles_(database) {}

  std::optional<Attribution> attribute(const RecordedStep& step);
  std::shared_ptr<const AlignedTrees> align_trees(const RecordedStep& step);

 private:
  using SeriesAndCommit = std::pair<std::int64_t, std::int64_t>;

  Profiles profiles_;
  Attributor attributor_;
  SeriesAndCommit last_read_;
  std::vector<FunctionCost> last_functions_;
};

}  // namespace instr
