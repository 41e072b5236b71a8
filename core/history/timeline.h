// The commits of a branch that were measured, in their order, and which exact series each run
// measured: what tells "unchanged" from "not measured".
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/sqlite.h"
#include "core/history/steps.h"

namespace instr {

// Numbers of series, as ranges from first to last; sorted, and as few as can be.
class SeriesSet {
 public:
  using Range = std::pair<std::int64_t, std::int64_t>;

  static SeriesSet of(std::vector<std::int64_t> series);
  // "[[1,4000],[4003,4003]]"; nothing if it is not that.
  static std::optional<SeriesSet> parse(const std::string& text);
  std::string text() const;

  bool contains(std::int64_t series) const;
  const std::vector<Range>& ranges() const { return ranges_; }
  bool operator==(const SeriesSet&) const = default;

 private:
  std::vector<Range> ranges_;
};

// What a row of series_sets has as its members. Throws an SqlError if they cannot be.
SeriesSet members_of(const SqlDatabase& database, const std::string& text);

class Timeline {
 public:
  Timeline(const SqlDatabase& database, std::int64_t branch);

  void add(const Place& place, std::int64_t commit);
  void add(const Place& place, std::shared_ptr<const SeriesSet> measured);

  bool is_measured(const Place& place, std::int64_t series) const;
  // The first commit after `place` at which the series was measured.
  std::optional<Place> next(const Place& place, std::int64_t series) const;
  // The last one before it.
  std::optional<Place> previous(const Place& place, std::int64_t series) const;
  // The first one from `place` on.
  std::optional<Place> first_from(const Place& place, std::int64_t series) const;

  Place place_of(std::int64_t commit) const { return places_.at(commit); }
  std::int64_t commit_at(const Place& place) const { return commits_.at(place).commit; }
  bool has(std::int64_t commit) const { return places_.contains(commit); }

  struct Measured {
    std::int64_t commit = 0;
    std::vector<std::shared_ptr<const SeriesSet>> runs;

    bool has(std::int64_t series) const;
  };
  const std::map<Place, Measured>& commits() const { return commits_; }

 private:
  using Commits = std::map<Place, Measured>;
  static std::optional<Place> first_of(Commits::const_iterator from, const Commits& commits,
                                       std::int64_t series);

  Commits commits_;
  std::map<std::int64_t, Place> places_;
};

}  // namespace instr
