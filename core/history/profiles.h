// The functions of a step, and what each path of calls cost, as a history keeps them: those of the
// whole count, so that any two steps can be told apart, with the names in a table of their own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/sqlite.h"
#include "core/compare/attribution.h"
#include "core/history/dictionary.h"
#include "core/history/read.h"
#include "core/history/steps.h"
#include "core/history/timeline.h"
#include "core/profile/call_tree.h"
#include "core/results/measurement.h"

namespace instr {

class Profiles {
 public:
  explicit Profiles(const SqlDatabase& database);

  // `tree`: null where it is not known.
  void write(std::int64_t series, std::int64_t commit, const std::vector<FunctionCost>& functions,
             const CallTree* tree);
  void copy(std::int64_t series, std::int64_t from_commit, std::int64_t to_commit);
  void remove(std::int64_t series, std::int64_t commit);
  // None if none were recorded. Throws an SqlError if they are damaged.
  std::vector<FunctionCost> read(std::int64_t series, std::int64_t commit);

  // Null if none was recorded. Throws an SqlError if it is damaged.
  std::shared_ptr<const CallTree> read_call_tree(std::int64_t series, std::int64_t commit);

  // Names that no profile has any more.
  void remove_unused_names();

 private:
  struct Cost {
    std::int64_t name = 0;  // its number
    double ir = 0;
    double calls = 0;
  };
  std::vector<Cost> unpacked(const std::string& bytes) const;
  [[noreturn]] void fail() const;

  const SqlDatabase& database_;
  Dictionary names_;
  SqlStatement name_of_;
  SqlStatement write_;
  SqlStatement copy_;
  SqlStatement remove_;
  SqlStatement read_;
  SqlStatement read_tree_;
};

// The steps of a series in a history's tables, with their functions.
class StepsTable {
 public:
  explicit StepsTable(const SqlDatabase& database);

  // The numbers of the exact series of a branch.
  std::vector<std::int64_t> series_of(std::int64_t branch);

  Steps read(std::int64_t series, const Timeline& timeline);

  // Makes them `after`, where they were `before`. A new step has the functions of the one that held
  // there before.
  void write(std::int64_t series, const Timeline& timeline, const Steps& before,
             const Steps& after);

  Profiles& profiles() { return profiles_; }

 private:
  SqlStatement series_of_;
  SqlStatement read_;
  SqlStatement put_;
  SqlStatement remove_;
  Profiles profiles_;
};

// Attributes the change of a step to functions. Steps of one series are quickest one after the
// other.
class StepFunctions {
 public:
  explicit StepFunctions(const SqlDatabase& database) : profiles_(database) {}

  // Nothing if it is of another metric, or if one of the two sides has no functions. Throws an
  // SqlError if they are damaged.
  std::optional<Attribution> of(const RecordedStep& step);

  // The call trees of both sides; null if it is of another metric, or if one of them has none.
  std::shared_ptr<const AlignedTrees> trees_of(const RecordedStep& step);

 private:
  using Place = std::pair<std::int64_t, std::int64_t>;  // series, commit

  Profiles profiles_;
  Attributor attributor_;
  Place last_place_;
  std::vector<FunctionCost> last_;
};

}  // namespace instr
