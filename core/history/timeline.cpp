#include "core/history/timeline.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "core/base/git.h"
#include "core/base/json_line.h"

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

}  // namespace instr
