#include <fmt/format.h>

#include <map>
#include <memory>

#include "core/base/format.h"
#include "core/history/renames.h"
#include "core/history/steps_table.h"
#include "core/history/timeline.h"

namespace instr {

namespace {

// A series, as far as another key may have the same.
struct SeriesOfKey {
  std::int64_t id = 0;
  std::int64_t branch = 0;
  bool is_exact = true;
  std::optional<std::int64_t> twin;  // of the other key
};

std::vector<SeriesOfKey> series_of(const SqlDatabase& database, std::int64_t key,
                                   std::int64_t other_key) {
  auto rows = database.prepare(
      "SELECT own.id, own.branch_id, own.is_exact, twin.id FROM series AS own"
      " LEFT JOIN series AS twin ON twin.key_id = ?2 AND twin.branch_id = own.branch_id"
      " AND twin.class_id = own.class_id AND twin.metric = own.metric"
      " AND twin.is_exact = own.is_exact WHERE own.key_id = ?1");
  std::vector<SeriesOfKey> all;
  rows.start(key, other_key);
  while (rows.step()) {
    all.push_back({rows.integer(0), rows.integer(1), rows.integer(2) != 0,
                   rows.is_null(3) ? std::nullopt : std::optional(rows.integer(3))});
  }
  return all;
}

// A step of a joined series, with its functions and call tree as they are kept.
struct KeptStep {
  std::int64_t commit = 0;
  double value = 0;
  std::optional<std::string> functions;
  std::optional<std::string> call_tree;
};

class Renamer {
 public:
  Renamer(const SqlDatabase& database, const Rename& names)
      : database_(database), names_(names), steps_(database) {}

  Expected<Renamed> rename() {
    auto key = key_of(names_.from);
    if (!key) {
      return fail("the history has no benchmark `" + printable(names_.from) + "`",
                  "see instr_bench history list");
    }
    if (names_.from == names_.to) return fail("the two names are one", "name another one");
    auto other = key_of(names_.to);
    if (!other) {
      database_.prepare("UPDATE keys SET key = ? WHERE id = ?").run(names_.to, *key);
      return Renamed{series_of(database_, *key, *key).size(), 0};
    }
    Renamed renamed;
    for (const SeriesOfKey& one : series_of(database_, *key, *other)) {
      auto joined = one.twin ? join(one) : Expected<void>{};
      if (!joined) return tl::unexpected(joined.error());
      ++renamed.series;
      if (one.twin) ++renamed.joined;
    }
    database_.prepare("UPDATE series SET key_id = ? WHERE key_id = ?").run(*other, *key);
    database_.prepare("UPDATE OR REPLACE outcomes SET key_id = ? WHERE key_id = ?")
        .run(*other, *key);
    database_.prepare("DELETE FROM keys WHERE id = ?").run(*key);
    replace_members();
    return renamed;
  }

 private:
  std::optional<std::int64_t> key_of(const std::string& name) {
    auto row = database_.prepare("SELECT id FROM keys WHERE key = ?");
    return row.start(name).step() ? std::optional(row.integer(0)) : std::nullopt;
  }

  const Timeline& timeline_of(std::int64_t branch) {
    auto& timeline = timelines_[branch];
    if (!timeline) timeline = std::make_unique<Timeline>(database_, branch);
    return *timeline;
  }

  Expected<void> join(const SeriesOfKey& one) {
    auto joined = one.is_exact ? join_exact(one) : join_sampled(one);
    if (!joined) return joined;
    database_.prepare("DELETE FROM series WHERE id = ?").run(one.id);
    return {};
  }

  tl::unexpected<Error> refuse(const std::string& hash) const {
    return fail(fmt::format("commit {} was measured as `{}` and as `{}`: these are two benchmarks",
                            short_hash(hash), printable(names_.from), printable(names_.to)),
                "name the two names of one");
  }

  Expected<void> join_sampled(const SeriesOfKey& one) {
    auto both = database_.prepare(
        "SELECT own.hash FROM all_samples AS own JOIN all_samples AS twin ON twin.hash = own.hash"
        " WHERE own.series_id = ? AND twin.series_id = ?");
    if (both.start(one.id, *one.twin).step()) return refuse(both.text(0));
    database_.prepare("UPDATE samples SET series_id = ? WHERE series_id = ?")
        .run(*one.twin, one.id);
    return {};
  }

  Expected<void> join_exact(const SeriesOfKey& one) {
    auto steps = joined_steps(one);
    if (!steps) return tl::unexpected(steps.error());
    database_.prepare("DELETE FROM steps WHERE series_id IN (?, ?)").run(one.id, *one.twin);
    auto put =
        database_.prepare("INSERT INTO steps (series_id, commit_id, value) VALUES (?, ?, ?)");
    auto put_profile = database_.prepare("INSERT INTO profiles VALUES (?, ?, ?, ?)");
    for (const KeptStep& step : *steps) {
      put.run(*one.twin, step.commit, step.value);
      if (!step.functions) continue;
      put_profile.run(*one.twin, step.commit, SqlBlob{*step.functions},
                      step.call_tree ? std::optional(SqlBlob{*step.call_tree}) : std::nullopt);
    }
    member_[one.id] = *one.twin;
    return {};
  }

  // Of both, at each commit at which one of them was measured and its value differs.
  Expected<std::vector<KeptStep>> joined_steps(const SeriesOfKey& one) {
    const Timeline& timeline = timeline_of(one.branch);
    const std::map<std::int64_t, Steps> steps{{one.id, steps_.read(one.id, timeline)},
                                              {*one.twin, steps_.read(*one.twin, timeline)}};
    auto profile = database_.prepare(
        "SELECT functions, call_tree FROM profiles WHERE series_id = ? AND commit_id = ?");
    std::vector<KeptStep> joined;
    for (const auto& [place, commit] : timeline.commits()) {
      const bool is_own = commit.has(one.id);
      const bool is_twin = commit.has(*one.twin);
      if (is_own && is_twin)
        return refuse(row_of(database_, read_commits(database_), commit.commit).hash);
      if (!is_own && !is_twin) continue;
      const auto series = is_own ? one.id : *one.twin;
      const auto step = step_at(steps.at(series), place);
      if (!step || (!joined.empty() && joined.back().value == step->value)) continue;
      joined.push_back({commit.commit, step->value, std::nullopt, std::nullopt});
      if (!profile.start(series, timeline.commit_at(step->place)).step()) continue;
      joined.back().functions = profile.text(0);
      if (!profile.is_null(1)) joined.back().call_tree = profile.text(1);
    }
    return joined;
  }

  // In the sets of what runs measured, the series that were joined.
  void replace_members() {
    auto rows = database_.prepare("SELECT id, members FROM series_sets");
    std::map<std::int64_t, std::string> changed;
    rows.start();
    while (rows.step()) {
      const SeriesSet before = members_of(database_, rows.text(1));
      const std::string text = replaced(before).text();
      if (text != before.text()) changed[rows.integer(0)] = text;
    }
    auto same = database_.prepare("SELECT id FROM series_sets WHERE members = ?");
    for (const auto& [id, text] : changed) {
      if (same.start(text).step()) {
        database_.prepare("UPDATE runs SET set_id = ? WHERE set_id = ?").run(same.integer(0), id);
        database_.prepare("DELETE FROM series_sets WHERE id = ?").run(id);
      } else {
        database_.prepare("UPDATE series_sets SET members = ? WHERE id = ?").run(text, id);
      }
    }
  }

  SeriesSet replaced(const SeriesSet& set) const {
    std::vector<std::int64_t> members;
    for (const auto& [first, last] : set.ranges()) {
      for (auto id = first; id <= last; ++id) {
        auto found = member_.find(id);
        members.push_back(found == member_.end() ? id : found->second);
      }
    }
    return SeriesSet::of(std::move(members));
  }

  const SqlDatabase& database_;
  const Rename& names_;
  StepsTable steps_;
  std::map<std::int64_t, std::unique_ptr<Timeline>> timelines_;  // by branch
  std::map<std::int64_t, std::int64_t> member_;                  // what a series is part of now
};

}  // namespace

Expected<Renamed> rename(const SqlDatabase& database, const Rename& names) {
  return sql_stage([&]() -> Expected<Renamed> {
    SqlTransaction transaction(database);
    auto renamed = Renamer(database, names).rename();
    if (renamed) transaction.commit();
    return renamed;
  });
}

}  // namespace instr
