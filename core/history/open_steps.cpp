#include "core/history/open_steps.h"

#include <set>

#include "core/history/read.h"
#include "core/history/timeline.h"

namespace instr {

Expected<std::vector<OpenStep>> open_steps(const SqlDatabase& database, const std::string& branch) {
  auto steps = read_steps(database, {{}, {}, branch}, std::nullopt, /*with_first=*/false);
  if (!steps) return tl::unexpected(steps.error());
  return sql_stage([&] {
    const auto commits = read_commits(database);
    auto number = database.prepare("SELECT id FROM branches WHERE name = ?");
    std::vector<OpenStep> open;
    if (!number.start(branch).step()) return open;
    const Timeline timeline(database, number.integer(0));
    std::set<OpenStep> known;
    for (const RecordedStep& step : *steps) {
      const auto before = timeline.previous(step.commit.place(), step.series.id);
      if (!before || before->position + 1 >= step.commit.position) continue;
      OpenStep one{row_of(database, commits, timeline.commit_at(*before)).hash, step.commit.hash};
      if (known.insert(one).second) open.push_back(std::move(one));
    }
    return open;
  });
}

Expected<bool> is_measured(const SqlDatabase& database, const std::string& branch,
                           const std::string& hash) {
  return sql_stage([&] {
    auto run = database.prepare(
        "SELECT 1 FROM runs JOIN commits ON commits.id = commit_id"
        " JOIN branches ON branches.id = branch_id WHERE branches.name = ? AND hash = ?");
    return run.start(branch, hash).step();
  });
}

}  // namespace instr
