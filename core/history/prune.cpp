#include "core/history/prune.h"

#include <vector>

#include "core/history/profiles.h"
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
DELETE FROM commits WHERE id NOT IN (SELECT commit_id FROM runs);
DELETE FROM branches WHERE id NOT IN (SELECT branch_id FROM runs);
)";

std::vector<std::int64_t> numbers_of(SqlStatement rows) {
  std::vector<std::int64_t> numbers;
  while (rows.step()) numbers.push_back(rows.integer(0));
  return numbers;
}

void prune_branch(const SqlDatabase& database, std::int64_t branch, const Place& first,
                  Pruned& pruned) {
  const Timeline timeline(database, branch);
  StepsTable steps(database);
  for (const auto one : steps.series_of(branch)) {
    const Steps before = steps.read(one, timeline);
    const auto kept = timeline.first_from(first, one);
    steps.write(one, timeline, before, kept ? since(before, *kept) : Steps{});
  }
  auto remove = database.prepare("DELETE FROM runs WHERE branch_id = ? AND commit_id = ?");
  for (const auto& [place, commit] : timeline.commits()) {
    if (!(place < first)) break;
    pruned.runs += commit.runs.size();
    remove.run(branch, commit.commit);
  }
}

}  // namespace

Expected<Pruned> prune(const SqlDatabase& database, const Place& first,
                       const std::optional<std::string>& branch) {
  return sql_stage([&] {
    Pruned pruned;
    SqlTransaction transaction(database);
    const auto series = database.integer("SELECT count(*) FROM series");
    auto branches = database.prepare("SELECT id FROM branches WHERE ?1 IS NULL OR name = ?1");
    for (const auto one : numbers_of(std::move(branches.start(branch)))) {
      prune_branch(database, one, first, pruned);
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
  return sql_stage([&] { database.run("VACUUM"); });
}

}  // namespace instr
