#include "core/history/renamed_branch.h"

#include "core/history/left_behind.h"
#include "core/history/read.h"
#include "core/history/seal.h"

namespace instr {

Expected<std::optional<std::string>> find_former_name(const SqlDatabase& database,
                                                      const std::string& branch,
                                                      const std::set<std::string>& line) {
  return sql_stage([&]() -> Expected<std::optional<std::string>> {
    std::optional<std::string> former;
    if (find_branch(database, branch)) return former;
    // The last commit of each branch, the newest first.
    auto rows = database.rows(
        "SELECT name, hash, max(position) AS last FROM runs"
        " JOIN commits ON commits.id = commit_id JOIN branches ON branches.id = branch_id"
        " GROUP BY branch_id ORDER BY last DESC, name");
    while (!former && rows.step()) {
      const std::string name = rows.text(0);
      if (!is_left_behind(name) && line.contains(rows.text(1))) former = name;
    }
    return former;
  });
}

Expected<void> rename_branch(const SqlDatabase& database, const std::string& former,
                             const std::string& name) {
  return sql_stage([&]() -> Expected<void> {
    HistoryTransaction transaction(database);
    auto rename = database.prepare("UPDATE OR IGNORE branches SET name = ? WHERE name = ?");
    rename.run(name, former);
    rename.run(left_behind_branch(name), left_behind_branch(former));
    transaction.commit();
    return {};
  });
}

}  // namespace instr
