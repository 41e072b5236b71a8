// The figures of an HTML report that compare series: with eager, and each value with the one
// before.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "core/definitions/metrics.h"
#include "core/definitions/variant.h"
#include "core/report/html_data.h"
#include "core/results/verification.h"

namespace instr {

namespace {

// Returns the logarithm of a ratio; nothing unless both are above 0.
std::optional<double> log_ratio(double over, double under) {
  if (over <= 0 || under <= 0) return std::nullopt;
  return std::log(over / under);
}

// The key, metric and branch of a line, which has several series if it was measured differently.
using LineName = std::tuple<std::string, std::string, std::string>;

class FigureBuilder {
 public:
  explicit FigureBuilder(ReportData& data) : data_(data) {
    for (ReportSeries& series : data.series) {
      set_logs(series);
      series.last = find_last(series);
      lines_[{series.key, series.metric, series.branch}].push_back(&series);
      candidates_.emplace(series.key, series.branch);
    }
    for (auto& [name, all] : lines_) {
      std::ranges::stable_sort(all, std::ranges::greater(), &ReportSeries::last);
    }
    for (const ReportOutcome& outcome : data.outcomes) {
      const bool is_good = outcome.state == to_string(VerificationCode::kPass);
      if (!is_good && outcome.state != kSkippedState) bad_.emplace(outcome.column, outcome.key);
    }
  }

  void build() {
    for (const auto& [key, branch] : candidates_) {
      const Variant variant = parse_key(key);
      if (!is_candidate(variant)) continue;
      const std::string eager = make_eager(variant).key;
      ReportBackend backend{key, branch, {}, find_compile_time(key, branch)};
      add_speedups(backend, eager);
      if (!backend.speedups.empty() || backend.compile_time) {
        data_.backends.push_back(std::move(backend));
      }
    }
    for (auto& [name, all] : lines_) {
      const auto& [key, metric, branch] = name;
      const Variant variant = parse_key(key);
      if (!is_candidate(variant)) continue;
      const auto of_eager = find_now(make_eager(variant).key, metric, branch);
      const double now = all.front()->values.back().value;
      if (of_eager) all.front()->against_eager = log_ratio(*of_eager, now);
    }
  }

 private:
  static void set_logs(ReportSeries& series) {
    for (std::size_t i = 1; i < series.values.size(); ++i) {
      const auto log = log_ratio(series.values[i].value, series.values[i - 1].value);
      series.logs.push_back(log.value_or(0));
    }
  }

  std::size_t find_last(const ReportSeries& series) const {
    const std::size_t known = series.values.back().column;
    if (!series.is_exact) return known;
    for (std::size_t i = data_.columns.size(); i-- > known;) {
      const ReportColumn& column = data_.columns[i];
      if (column.branch != series.branch) continue;
      const auto has = [&](const auto& run) { return run.measured->contains(series.id); };
      if (std::ranges::any_of(column.runs, has)) return i;
    }
    return known;
  }

  std::optional<double> find_now(const std::string& key, const std::string& metric,
                                 const std::string& branch) const {
    const auto line = lines_.find({key, metric, branch});
    if (line == lines_.end()) return std::nullopt;
    return line->second.front()->values.back().value;
  }

  // The values of a line by their columns.
  std::map<std::size_t, double> find_values(const std::string& key, const char* metric,
                                            const std::string& branch) const {
    std::map<std::size_t, double> values;
    const auto line = lines_.find({key, metric, branch});
    if (line == lines_.end()) return values;
    for (const ReportSeries* series : line->second) {
      for (const auto& [column, value] : series->values) values[column] = value;
    }
    return values;
  }

  // From the times in units of those that eager had in the same rounds, if there are any, else from
  // the wall times of both. A failure has none.
  void add_speedups(ReportBackend& backend, const std::string& eager) const {
    const auto relative = find_values(backend.key, kRelativeWall, backend.branch);
    const auto own = relative.empty() ? find_values(backend.key, kWall, backend.branch) : relative;
    if (own.empty()) return;
    const auto of_eager = relative.empty() ? find_values(eager, kWall, backend.branch) : relative;
    for (const auto& [column, value] : own) {
      const auto other = of_eager.find(column);
      if (other == of_eager.end() || bad_.contains({column, backend.key})) continue;
      const auto log = log_ratio(relative.empty() ? other->second : 1, value);
      if (log) backend.speedups.emplace_back(column, *log);
    }
  }

  std::optional<double> find_compile_time(const std::string& key, const std::string& branch) const {
    const auto ready = find_now(key, kReadyTime, branch);
    const auto wall = find_now(key, kWall, branch);
    if (!ready || !wall) return std::nullopt;
    return std::max(*ready - *wall, 0.0);
  }

  ReportData& data_;
  std::map<LineName, std::vector<ReportSeries*>> lines_;      // the series measured last first
  std::set<std::pair<std::string, std::string>> candidates_;  // keys and branches
  std::set<std::pair<std::size_t, std::string>> bad_;         // columns and keys
};

}  // namespace

void add_figures(ReportData& data) { FigureBuilder(data).build(); }

}  // namespace instr
