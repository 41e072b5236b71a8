// The steps of a series in a history's tables, with their functions.
#pragma once

#include <cstdint>

#include "core/base/sqlite.h"
#include "core/history/profiles.h"
#include "core/history/steps.h"
#include "core/history/timeline.h"

namespace instr {

class StepsTable {
 public:
  explicit StepsTable(const SqlDatabase& database);

  Steps read(std::int64_t series, const Timeline& timeline);

  // Makes them `after`, where they were `before`. A new step has the functions of the one that held
  // there before.
  void write(std::int64_t series, const Timeline& timeline, const Steps& before,
             const Steps& after);

  Profiles& profiles() { return profiles_; }

 private:
  SqlStatement read_;
  SqlStatement put_;
  SqlStatement remove_;
  Profiles profiles_;
};

}  // namespace instr
