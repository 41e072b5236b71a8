#include "core/history/timeline.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "core/base/git.h"
#include "core/base/json_line.h"

namespace instr {

SeriesSet SeriesSet::of(std::vector<std::int64_t> series) {
  std::sort(series.begin(), series.end());
  SeriesSet set;
  for (const std::int64_t one : series) {
    const bool goes_on = !set.ranges_.empty() && one <= set.ranges_.back().second + 1;
    if (goes_on) {
      set.ranges_.back().second = one;
    } else {
      set.ranges_.emplace_back(one, one);
    }
  }
  return set;
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
    const auto last = set.ranges_.empty() ? 0 : set.ranges_.back().second;
    if (next.first <= last || next.second < next.first) return std::nullopt;
    set.ranges_.push_back(next);
  }
  return set;
}

std::string SeriesSet::text() const { return nlohmann::ordered_json(ranges_).dump(); }

bool SeriesSet::contains(std::int64_t series) const {
  auto after = std::upper_bound(
      ranges_.begin(), ranges_.end(), series,
      [](std::int64_t wanted, const Range& range) { return wanted < range.first; });
  return after != ranges_.begin() && series <= std::prev(after)->second;
}

bool Timeline::Measured::has(std::int64_t series) const {
  return std::any_of(runs.begin(), runs.end(),
                     [series](const auto& run) { return run->contains(series); });
}

SeriesSet members_of(const SqlDatabase& database, const std::string& text) {
  auto set = SeriesSet::parse(text);
  const auto last = set && !set->ranges().empty() ? set->ranges().back().second : 0;
  if (!set || last > database.integer("SELECT max(id) FROM series")) {
    database.fail_as_damaged("a set of series is none");
  }
  return *std::move(set);
}

Timeline::Timeline(const SqlDatabase& database, std::int64_t branch) {
  std::unordered_map<std::int64_t, std::shared_ptr<const SeriesSet>> sets;
  auto runs = database.prepare(
      "SELECT commit_id, hash, position, set_id, members FROM runs"
      " JOIN commits ON commits.id = commit_id JOIN series_sets ON series_sets.id = set_id"
      " WHERE branch_id = ?");
  runs.start(branch);
  while (runs.step()) {
    auto& set = sets[runs.integer(3)];
    if (!set) set = std::make_shared<const SeriesSet>(members_of(database, runs.text(4)));
    const Place place = Commit{runs.text(1), runs.integer(2), 0, ""}.place();
    add(place, runs.integer(0));
    add(place, set);
  }
}

void Timeline::add(const Place& place, std::int64_t commit) {
  commits_[place].commit = commit;
  places_[commit] = place;
}

void Timeline::add(const Place& place, std::shared_ptr<const SeriesSet> measured) {
  commits_.at(place).runs.push_back(std::move(measured));
}

bool Timeline::is_measured(const Place& place, std::int64_t series) const {
  auto found = commits_.find(place);
  return found != commits_.end() && found->second.has(series);
}

std::optional<Place> Timeline::first_of(Commits::const_iterator from, const Commits& commits,
                                        std::int64_t series) {
  auto found = std::find_if(from, commits.end(),
                            [series](const auto& commit) { return commit.second.has(series); });
  return found == commits.end() ? std::nullopt : std::optional(found->first);
}

std::optional<Place> Timeline::next(const Place& place, std::int64_t series) const {
  return first_of(commits_.upper_bound(place), commits_, series);
}

std::optional<Place> Timeline::previous(const Place& place, std::int64_t series) const {
  for (auto at = commits_.lower_bound(place); at != commits_.begin();) {
    --at;
    if (at->second.has(series)) return at->first;
  }
  return std::nullopt;
}

std::optional<Place> Timeline::first_from(const Place& place, std::int64_t series) const {
  return first_of(commits_.lower_bound(place), commits_, series);
}

}  // namespace instr
