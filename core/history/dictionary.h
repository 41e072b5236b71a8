// The numbers of the rows of a table that contain texts.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "core/base/sqlite.h"

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

}  // namespace instr
