#include "core/history/timeline.h"

#include <algorithm>
#include <iterator>
#include <ranges>
#include <unordered_map>

#include "core/base/git.h"
#include "core/base/read_file.h"
#include "core/history/schema.h"

namespace instr {

SeriesSet::SeriesSet(std::vector<std::int64_t> series) {
  std::sort(series.begin(), series.end());
  for (const std::int64_t number : series) {
    if (!ranges_.empty() && number <= max() + 1) {
      ranges_.back().second = number;
    } else {
      ranges_.emplace_back(number, number);
    }
  }
}

std::optional<SeriesSet> SeriesSet::parse(const std::string& text) {
  const auto json = parse_json(text);
  if (!json || !json->is_array()) return std::nullopt;
  SeriesSet set;
  for (const auto& range : *json) {
    const bool is_pair = range.is_array() && range.size() == 2 && range[0].is_number_integer() &&
                         range[1].is_number_integer();
    if (!is_pair) return std::nullopt;
    const Range next(range[0], range[1]);
    if (next.first <= set.max() || next.second < next.first) return std::nullopt;
    set.ranges_.push_back(next);
  }
  return set;
}

std::string SeriesSet::text() const { return nlohmann::ordered_json(ranges_).dump(); }

bool SeriesSet::contains(std::int64_t series) const {
  const auto after = std::ranges::upper_bound(ranges_, series, {}, &Range::first);
  return after != ranges_.begin() && series <= std::prev(after)->second;
}

SeriesSet parse_members(const SqlDatabase& database, const std::string& text) {
  auto set = SeriesSet::parse(text);
  if (!set || set->max() > database.integer("SELECT max(id) FROM series")) {
    database.fail_as_damaged("a stored set of series is malformed");
  }
  return *std::move(set);
}

bool Timeline::Measured::has(std::int64_t series) const {
  return std::ranges::any_of(runs,
                             [series](const Run& run) { return run.measured->contains(series); });
}

Timeline::Timeline(const SqlDatabase& database, std::int64_t branch) {
  std::unordered_map<std::int64_t, std::shared_ptr<const SeriesSet>> sets;
  for (const auto& run : database.rows(
           "SELECT commit_id, hash, position, set_id, members, runs.id FROM runs"
           " JOIN commits ON commits.id = commit_id JOIN series_sets ON series_sets.id = set_id"
           " WHERE branch_id = ? ORDER BY runs.id",
           branch)) {
    auto& set = sets[run.integer(3)];
    if (!set) set = std::make_shared<const SeriesSet>(parse_members(database, run.text(4)));
    const Place place = Commit{run.text(1), run.integer(2), 0, ""}.place();
    add_commit(place, run.integer(0));
    add_run(place, run.integer(5), set);
  }
}

void Timeline::add_commit(const Place& place, std::int64_t commit) {
  commits_[place].commit = commit;
  places_[commit] = place;
}

void Timeline::add_run(const Place& place, std::int64_t run,
                       std::shared_ptr<const SeriesSet> measured) {
  commits_.at(place).runs.push_back({run, std::move(measured)});
}

bool Timeline::is_measured(const Place& place, std::int64_t series) const {
  const auto commit = commits_.find(place);
  return commit != commits_.end() && commit->second.has(series);
}

std::optional<Place> Timeline::find_from(Commits::const_iterator from, std::int64_t series) const {
  const auto commit = std::find_if(
      from, commits_.end(), [series](const auto& entry) { return entry.second.has(series); });
  return commit == commits_.end() ? std::nullopt : std::optional(commit->first);
}

std::optional<Place> Timeline::next(const Place& place, std::int64_t series) const {
  return find_from(commits_.upper_bound(place), series);
}

std::optional<Place> Timeline::previous(const Place& place, std::int64_t series) const {
  for (auto commit = commits_.lower_bound(place); commit != commits_.begin();) {
    --commit;
    if (commit->second.has(series)) return commit->first;
  }
  return std::nullopt;
}

std::optional<Place> Timeline::first_from(const Place& place, std::int64_t series) const {
  return find_from(commits_.lower_bound(place), series);
}

namespace {

std::map<std::int64_t, std::shared_ptr<const LimitsOfKeys>> read_limit_sets(
    const SqlDatabase& database) {
  std::map<std::int64_t, std::string> keys;
  for (const auto& key : database.rows("SELECT id, key FROM keys")) {
    keys[key.integer(0)] = key.text(1);
  }
  std::map<std::int64_t, std::shared_ptr<const LimitsOfKeys>> sets;
  for (const auto& set : database.rows("SELECT id, limits FROM limit_sets")) {
    using Stored = std::vector<std::pair<LimitTexts, std::vector<SeriesSet::Range>>>;
    auto limits = std::make_shared<LimitsOfKeys>();
    for (const auto& [texts, ranges] :
         parse_stored<Stored>(database, set.text(1), "the stored limits of a run are malformed")) {
      for (const auto& [first, last] : ranges) {
        for (auto key = keys.lower_bound(first); key != keys.end() && key->first <= last; ++key) {
          (*limits)[key->second] = texts;
        }
      }
    }
    sets[set.integer(0)] = std::move(limits);
  }
  return sets;
}

}  // namespace

std::map<std::int64_t, RunFacts> read_run_facts(const SqlDatabase& database) {
  std::map<std::int64_t, RunFacts> facts;
  const auto schema = read_schema(database);
  if (schema < kSchemaWithDefinitions) return facts;
  for (const auto& run :
       database.rows("SELECT id, definitions FROM runs WHERE definitions IS NOT NULL")) {
    facts[run.integer(0)].definitions = parse_stored<DefinitionOptions>(
        database, run.text(1), "the stored definitions of a run are not a JSON array of texts");
  }
  if (schema < kSchemaWithLimits) return facts;
  const auto sets = read_limit_sets(database);
  for (const auto& run :
       database.rows("SELECT id, limits_id FROM runs WHERE limits_id IS NOT NULL")) {
    facts[run.integer(0)].limits = find_row(database, sets, run.integer(1));
  }
  return facts;
}

RunsOfSeries::RunsOfSeries(const SqlDatabase& database)
    : database_(database),
      facts_(read_run_facts(database)),
      find_sample_(database.prepare("SELECT 1 FROM samples WHERE series_id = ? AND run_id = ?")) {
  for (const auto& [id, name] : read_branches(database)) {
    timelines_.emplace(name, Timeline(database, id));
  }
}

bool RunsOfSeries::has(const Timeline::Run& run, const HistorySeries& series) {
  return series.is_exact ? run.measured->contains(series.id)
                         : find_sample_.start(series.id, run.id).step();
}

DefinitionOptions RunsOfSeries::find_definitions(const HistorySeries& series,
                                                 const std::optional<std::int64_t>& commit) {
  for (const auto& [place, measured] : timeline(series.branch).commits() | std::views::reverse) {
    if (commit && measured.commit != *commit) continue;
    for (const Timeline::Run& run : measured.runs | std::views::reverse) {
      const auto facts = facts_.find(run.id);
      if (facts == facts_.end() || facts->second.definitions.empty()) continue;
      if (has(run, series)) return facts->second.definitions;
    }
  }
  return {};
}

const Limits& RunsOfSeries::find_limits(const HistorySeries& series, const Place& place) {
  for (const Timeline::Run& run :
       timeline(series.branch).commits().at(place).runs | std::views::reverse) {
    if (run.measured->contains(series.id)) return limits_of_run(run.id, series.key);
  }
  return limits_of_run(0, series.key);
}

const Limits& RunsOfSeries::limits_of_run(std::int64_t run, const std::string& key) {
  const auto facts = facts_.find(run);
  const LimitsOfKeys* all = facts == facts_.end() ? nullptr : facts->second.limits.get();
  if (all == nullptr || !all->contains(key)) return defaults_;
  const auto [known, is_new] = limits_.try_emplace({all, key}, Limits());
  if (!is_new) return known->second;
  auto limits = instr::find_limits({key, all->at(key), {}});
  if (!limits) database_.fail_as_damaged("a stored limit is malformed");
  return known->second = *std::move(limits);
}

}  // namespace instr
