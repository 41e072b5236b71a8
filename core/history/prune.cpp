#include "core/history/prune.h"

#include "core/history/profiles.h"
#include "core/history/read.h"
#include "core/history/seal.h"
#include "core/history/timeline.h"

namespace instr {

namespace {

// Rows that nothing refers to any more.
constexpr const char* kRemoveUnused = R"(
DELETE FROM series WHERE id NOT IN (SELECT series_id FROM steps)
  AND id NOT IN (SELECT series_id FROM samples);
DELETE FROM keys WHERE id NOT IN (SELECT key_id FROM series)
  AND id NOT IN (SELECT key_id FROM outcomes);
DELETE FROM classes WHERE id NOT IN (SELECT class_id FROM series);
DELETE FROM series_sets WHERE id NOT IN (SELECT set_id FROM runs);
DELETE FROM limit_sets WHERE id NOT IN (SELECT limits_id FROM runs WHERE limits_id IS NOT NULL);
DELETE FROM commits WHERE id NOT IN (SELECT commit_id FROM runs);
DELETE FROM branches WHERE id NOT IN (SELECT branch_id FROM runs);
)";

void prune_branch(const SqlDatabase& database, std::int64_t branch, const Place& first,
                  Pruned& pruned) {
  const Timeline timeline(database, branch);
  StepsTable steps(database);
  for (const auto series : steps.read_series(branch)) {
    const Steps before = steps.read(series, timeline);
    const auto kept = timeline.first_from(first, series);
    steps.write(series, timeline, before, kept ? steps_since(before, *kept) : Steps{});
  }
  auto remove = database.prepare("DELETE FROM runs WHERE branch_id = ? AND commit_id = ?");
  for (const auto& [place, commit] : timeline.commits()) {
    if (place >= first) break;
    pruned.runs += commit.runs.size();
    remove.run(branch, commit.commit);
  }
}

}  // namespace

Expected<Pruned> prune(const SqlDatabase& database, const Place& first,
                       const std::optional<std::string>& branch) {
  return sql_stage([&] {
    Pruned pruned;
    HistoryTransaction transaction(database);
    const auto series = database.integer("SELECT count(*) FROM series");
    for (const auto& [number, name] : read_branches(database)) {
      if (!branch || name == *branch) prune_branch(database, number, first, pruned);
    }
    database.run(kRemoveUnused);
    Profiles(database).remove_unused_names();
    pruned.series =
        static_cast<std::size_t>(series - database.integer("SELECT count(*) FROM series"));
    transaction.commit();
    return pruned;
  });
}

Expected<void> compact(const SqlDatabase& database) {
  return sql_stage([&] {
    unseal(database);
    const auto compacted = sql_stage([&] { database.run("VACUUM"); });
    HistoryTransaction(database).commit();
    return compacted;
  });
}

}  // namespace instr
