// The functions of a step, and what each path of calls cost, as a history keeps them: those of the
// whole count, so that any two steps can be told apart, with the names in a table of their own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/sqlite.h"
#include "core/history/dictionary.h"
#include "core/values/call_tree.h"
#include "core/values/measurement.h"

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

}  // namespace instr
