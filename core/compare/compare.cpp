#include "core/compare/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

#include "core/compare/judge.h"
#include "core/definitions/metrics.h"

namespace instr {

namespace {

using LinesOfFile = std::vector<const LineCost*>;
using LinesByFile = std::map<std::string, LinesOfFile>;

constexpr std::size_t kMaxCells = std::size_t{1} << 24;  // cells in the table of CommonLengths

LinesByFile group_by_file(const LineCosts& costs) {
  LinesByFile files;
  for (const LineCost& line : costs.lines) files[line.file].push_back(&line);
  return files;
}

std::string file_name(const std::string& file) {
  return std::filesystem::path(file).filename().string();
}

// Returns the only file with that name which `others` lacks; "" if there is none, or several.
std::string find_unmatched(const LinesByFile& files, const LinesByFile& others,
                           const std::string& name) {
  std::string match;
  for (const auto& [file, lines] : files) {
    if (file_name(file) != name || others.contains(file)) continue;
    if (!match.empty()) return "";
    match = file;
  }
  return match;
}

struct File {
  std::string name;  // the name in LineChange::file
  LinesOfFile before;
  LinesOfFile after;
};

// Returns each file once, by name.
std::vector<File> pair_files(LinesByFile before, const LinesByFile& after) {
  std::map<std::string, File> files;
  for (const auto& [name, lines] : after) {
    File& file = files[name] = {name, {}, lines};
    std::string old = name;
    if (!before.contains(name)) {
      old = find_unmatched(before, after, file_name(name));
      if (find_unmatched(after, before, file_name(name)) != name) continue;
    }
    if (auto lines_before = before.extract(old)) file.before = std::move(lines_before.mapped());
  }
  for (const auto& [name, lines] : before) files[name] = {name, lines, {}};
  std::vector<File> all;
  for (auto& [name, file] : files) all.push_back(std::move(file));
  return all;
}

bool are_same(const LineCost& before, const LineCost& after) {
  if (before.text.empty() && after.text.empty()) return before.line == after.line;
  return before.text == after.text;
}

// The lengths of the longest common subsequences of the lines from two places on.
class CommonLengths {
 public:
  CommonLengths(const LinesOfFile& before, const LinesOfFile& after) : columns_(after.size() + 1) {
    if ((before.size() + 1) * columns_ > kMaxCells) return;
    lengths_.resize((before.size() + 1) * columns_);
    for (std::size_t i = before.size(); i-- > 0;) {
      for (std::size_t j = after.size(); j-- > 0;) {
        lengths_[i * columns_ + j] = are_same(*before[i], *after[j])
                                         ? at(i + 1, j + 1) + 1
                                         : std::max(at(i + 1, j), at(i, j + 1));
      }
    }
  }

  // Returns 0 if the files are too long to compare.
  std::uint32_t at(std::size_t before, std::size_t after) const {
    return lengths_.empty() ? 0 : lengths_[before * columns_ + after];
  }

 private:
  std::size_t columns_;
  std::vector<std::uint32_t> lengths_;
};

using LinePairs = std::vector<std::pair<const LineCost*, const LineCost*>>;

// Returns the lines in the order of the source; null: not on that side.
LinePairs align_lines(const LinesOfFile& before, const LinesOfFile& after) {
  const CommonLengths lengths(before, after);
  LinePairs pairs;
  std::size_t i = 0, j = 0;
  while (i < before.size() || j < after.size()) {
    if (i < before.size() && j < after.size() && are_same(*before[i], *after[j])) {
      pairs.emplace_back(before[i++], after[j++]);
    } else if (i < before.size() &&
               (j == after.size() || lengths.at(i + 1, j) >= lengths.at(i, j + 1))) {
      pairs.emplace_back(before[i++], nullptr);
    } else {
      pairs.emplace_back(nullptr, after[j++]);
    }
  }
  return pairs;
}

LineSide make_side(const LineCost* line, const LineCosts& costs) {
  if (line == nullptr) return {};
  return {line->line, costs.per_iteration(line->self), line->text};
}

double total_change(const std::vector<LineChange>& lines) {
  double sum = 0;
  for (const LineChange& line : lines) sum += std::fabs(line.change());
  return sum;
}

using Pairs = std::map<std::string, MeasurementPair>;

Expected<void> add_measurements(Pairs& pairs, const ResultSet& set,
                                const Measurement* MeasurementPair::*side) {
  for (const Measurement& measurement : set.results.measurements) {
    const Measurement*& place = pairs[measurement.variant.key].*side;
    if (place != nullptr) {
      return fail(
          fmt::format("{}: two measurements of `{}`", set.name, printable(measurement.variant.key)),
          "remove one of the two lines, or measure again");
    }
    place = &measurement;
  }
  return {};
}

// True for instructions that changed, and for metrics that fail, warn or gain.
bool needs_attribution(const MetricChange& metric) {
  return metric.change().value_or(0) != 0 &&
         (metric.metric == kInstructions || metric.verdict != Verdict::kPasses);
}

Expected<std::vector<FunctionCost>> find_functions(const ResultSet& set, const std::string& key) {
  return set.functions ? set.functions(key) : std::vector<FunctionCost>();
}

// The number of rows whose instructions changed, and whose functions one of the sides lacks.
struct WithoutFunctions {
  std::size_t before = 0;
  std::size_t after = 0;

  void add(const ComparedRow& row, bool lacks_before, bool lacks_after) {
    if (row.ir_change() == 0 || lacks_before == lacks_after) return;
    ++(lacks_before ? before : after);
  }
};

Expected<void> attribute(ComparedRow& row, const ResultSet& before, const ResultSet& after,
                         Attributor& attributor, WithoutFunctions& without) {
  TRY_ASSIGN(const auto functions_before, find_functions(before, row.key));
  TRY_ASSIGN(const auto functions_after, find_functions(after, row.key));
  without.add(row, functions_before.empty(), functions_after.empty());
  if (functions_before.empty() || functions_after.empty()) return {};
  const MetricChange* max = nullptr;  // the most important metric
  for (const MetricChange& metric : row.metrics) {
    if (!needs_attribution(metric)) continue;
    if (!is_attributable(metric.metric, functions_before, functions_after)) continue;
    if (max == nullptr || metric.verdict > max->verdict) max = &metric;
  }
  if (max == nullptr) return {};
  row.attribution =
      attributor.attribute(functions_before, functions_after, *max->change(), max->metric);
  if (before.device_events && after.device_events) {
    TRY_ASSIGN(const auto events_before, before.device_events(row.key));
    TRY_ASSIGN(const auto events_after, after.device_events(row.key));
    row.attribution->device = find_device_changes(events_before, events_after);
  }
  return {};
}

// Says why changes are not explained.
void add_without_functions(Comparison& comparison, const ResultSet& set, std::size_t rows) {
  if (rows == 0) return;
  comparison.problems.push_back(fmt::format(
      "{}: has no functions of {} that changed, so the other side's explain nothing: keep the file "
      "*.profiles.jsonl.gz beside its results, or measure again",
      set.name, format_plural(rows, "benchmark")));
}

Expected<WithoutFunctions> attribute_rows(Comparison& comparison, const ResultSet& before,
                                          const ResultSet& after, const CompareOptions& options) {
  Attributor attributor(options.attribution);
  WithoutFunctions without;
  std::size_t attributed = 0;
  for (ComparedRow& row : comparison.rows) {
    if (std::none_of(row.metrics.begin(), row.metrics.end(), needs_attribution)) continue;
    if (attributed == options.max_attributions) {
      ++comparison.not_attributed;
      continue;
    }
    TRY(attribute(row, before, after, attributor, without));
    if (row.attribution) ++attributed;
  }
  return without;
}

Expected<void> compare_lines_of_rows(Comparison& comparison, const ResultSet& before,
                                     const ResultSet& after, const CompareOptions& options) {
  if (!options.wants_lines || !before.lines || !after.lines) return {};
  std::size_t left = options.max_attributions;
  for (ComparedRow& row : comparison.rows) {
    if (row.ir_change() == 0) continue;
    if (left-- == 0) break;
    TRY_ASSIGN(const auto lines_before, before.lines(row.key));
    TRY_ASSIGN(const auto lines_after, after.lines(row.key));
    if (!lines_before || !lines_after) continue;
    row.lines = compare_lines(*lines_before, *lines_after, row.ir_change());
  }
  return {};
}

// The order of rows with the same verdict.
constexpr RowState kByImportance[] = {
    RowState::kSlower,        RowState::kFailedAfter, RowState::kMissing, RowState::kFailedBoth,
    RowState::kNotComparable, RowState::kFaster,      RowState::kNew,     RowState::kFailedBefore,
    RowState::kSkipped,       RowState::kSame};

// Returns the relative change of the instructions of a row or, if these are equal, the greatest of
// its other metrics.
double compute_impact(const ComparedRow& row) {
  double greatest = 0;
  for (const MetricChange& metric : row.metrics) {
    double size = std::fabs(metric.relative().value_or(0));
    if (metric.metric == kInstructions && size > 0) return size;
    greatest = std::max(greatest, size);
  }
  return greatest;
}

void sort_rows(std::vector<ComparedRow>& rows) {
  std::ranges::sort(rows, {}, [](const ComparedRow& row) {
    return std::tuple(-static_cast<int>(row.verdict),
                      std::ranges::find(kByImportance, row.state) - kByImportance,
                      -compute_impact(row), -std::fabs(row.ir_change()), std::string_view(row.key));
  });
}

bool is_comparable(RowState state) {
  return state == RowState::kSame || state == RowState::kSlower || state == RowState::kFaster;
}

ComparisonSummary summarize(const std::vector<ComparedRow>& rows) {
  ComparisonSummary summary;
  double logarithms = 0;
  for (const ComparedRow& row : rows) {
    ++summary.rows[row.state];
    ++summary.verdicts[row.verdict];
    if (!is_comparable(row.state)) continue;
    ++summary.comparable;
    const MetricChange* ir = row.metric(kInstructions);
    if (ir == nullptr || !ir->change() || *ir->before <= 0 || *ir->after <= 0) continue;
    logarithms += std::log(*ir->after) - std::log(*ir->before);
    ++summary.ratio_rows;
  }
  if (summary.ratio_rows > 0) {
    summary.ratio = std::exp(logarithms / static_cast<double>(summary.ratio_rows));
  }
  return summary;
}

// Adds a problem for each changed limit, however many benchmarks have it.
void add_limit_problems(Comparison& comparison) {
  std::map<LimitChange, std::vector<std::string>> keys;
  for (const ComparedRow& row : comparison.rows) {
    for (const LimitChange& change : row.limit_changes) keys[change].push_back(row.key);
  }
  for (const auto& [change, changed] : keys) {
    comparison.problems.push_back(fmt::format("{}, for {}: {}", to_string(change),
                                              format_plural(changed.size(), "benchmark"),
                                              list_some(changed)));
    comparison.verdict = std::max(comparison.verdict, Verdict::kWarns);
  }
}

void add_problems(Comparison& comparison, const ResultSet& before, const ResultSet& after,
                  const CompareOptions& options) {
  for (const ResultSet* set : {&before, &after}) {
    if (set->results.is_complete) continue;
    comparison.problems.push_back(set->name + ": incomplete: the run that wrote it did not finish");
    comparison.verdict = std::max(comparison.verdict, Verdict::kWarns);
  }
  for (const ResultSet* set : {&before, &after}) {
    const std::string note = busy_note(set->results.measurements);
    if (!note.empty()) comparison.problems.push_back(set->name + ": " + note);
  }
  add_limit_problems(comparison);
  if (comparison.summary.comparable > 0) return;
  comparison.problems.emplace_back(comparison.rows.empty()
                                       ? "there is nothing to compare: both results are empty"
                                       : "no benchmark could be compared");
  comparison.verdict =
      options.allow_nothing ? std::max(comparison.verdict, Verdict::kWarns) : Verdict::kFails;
}

}  // namespace

LineChanges compare_lines(const LineCosts& before, const LineCosts& after, double difference) {
  std::vector<std::vector<LineChange>> files;
  for (const File& file : pair_files(group_by_file(before), group_by_file(after))) {
    std::vector<LineChange>& changes = files.emplace_back();
    for (const auto& [was, is] : align_lines(file.before, file.after)) {
      LineChange change{file.name, make_side(was, before), make_side(is, after)};
      if (change.change() != 0) changes.push_back(std::move(change));
    }
  }
  std::ranges::stable_sort(files, std::greater(), total_change);
  LineChanges all{{}, difference};
  for (const auto& changes : files) {
    for (const LineChange& change : changes) all.elsewhere -= change.change();
    all.lines.insert(all.lines.end(), changes.begin(), changes.end());
  }
  // Smaller rests are rounding errors.
  if (std::fabs(all.elsewhere) < 1e-6) all.elsewhere = 0;
  return all;
}

std::string to_string(const LimitChange& change) {
  std::string before = to_string(change.before.value_or(Limit{}));
  return fmt::format("the {}limit of {} is changed from {} to {} ({} holds)",
                     change.is_soft ? "soft " : "", printable(change.metric), before,
                     to_string(change.after.value_or(Limit{})), before);
}

Limits default_limits() {
  Limits limits;
  for (const Metric& metric : kUsualMetrics) {
    if (!metric.hard_limit.is_none()) limits.hard[metric.name] = metric.hard_limit;
    if (!metric.soft_limit.is_none()) limits.soft[metric.name] = metric.soft_limit;
  }
  return limits;
}

const char* to_string(RowState state) {
  constexpr const char* kNames[] = {"same",    "slower",        "faster",       "new",
                                    "missing", "failed before", "failed after", "failed both",
                                    "skipped", "not comparable"};
  return kNames[static_cast<std::size_t>(state)];
}

const char* to_string(Verdict verdict) {
  constexpr const char* kNames[] = {"passes", "gain", "warns", "fails"};
  return kNames[static_cast<std::size_t>(verdict)];
}

std::optional<double> MetricChange::change() const {
  if (!before || !after) return std::nullopt;
  if (speedup && speedup->is_same()) return 0;
  return *after - *before;
}

std::optional<double> MetricChange::relative() const {
  auto moved = change();
  if (!moved || *moved == 0) return moved;
  if (*before == 0) return std::copysign(std::numeric_limits<double>::infinity(), *moved);
  return *moved / std::fabs(*before);
}

const MetricChange* ComparedRow::metric(const std::string& name) const {
  const auto change = std::ranges::find(metrics, name, &MetricChange::metric);
  return change == metrics.end() ? nullptr : &*change;
}

double ComparedRow::ir_change() const {
  const MetricChange* ir = metric(kInstructions);
  return ir == nullptr ? 0 : ir->change().value_or(0);
}

Expected<Comparison> compare(const ResultSet& before, const ResultSet& after,
                             const CompareOptions& options) {
  Pairs pairs;
  TRY(add_measurements(pairs, before, &MeasurementPair::before));
  TRY(add_measurements(pairs, after, &MeasurementPair::after));
  Comparison comparison;
  comparison.before_name = before.name;
  comparison.after_name = after.name;
  std::set<std::string> known_before;
  for (const Measurement& measurement : before.results.measurements) {
    const auto* counted = std::get_if<Counted>(&measurement.outcome);
    if (counted != nullptr) add_metrics(known_before, *counted);
  }
  comparison.rows.reserve(pairs.size());
  for (const auto& [key, pair] : pairs) {
    TRY_ASSIGN(auto row, compare_row(key, pair, known_before, options));
    comparison.verdict = std::max(comparison.verdict, row.verdict);
    comparison.rows.push_back(std::move(row));
  }
  sort_rows(comparison.rows);
  TRY_ASSIGN(const auto without, attribute_rows(comparison, before, after, options));
  TRY(compare_lines_of_rows(comparison, before, after, options));
  comparison.summary = summarize(comparison.rows);
  add_problems(comparison, before, after, options);
  if (options.base_has_limits) {  // expected counts have no functions
    add_without_functions(comparison, before, without.before);
    add_without_functions(comparison, after, without.after);
  }
  return comparison;
}

}  // namespace instr
