#include "core/compare/expected_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/csv.h"
#include "core/base/format.h"
#include "core/base/replace_file.h"
#include "core/base/trim.h"
#include "core/compare/csv_reader.h"

namespace instr {
namespace {

struct ExpectedCount {
  std::string comment;  // above the line of the file
  std::string key;
  std::string metric = {};
  double value = 0;  // finite, not negative
  std::optional<Limit> margin = {};
};

constexpr std::size_t kMinCountColumns = 3;  // the margin may be omitted
constexpr const char* kCountAdvice =
    "write for example `matmul/mm/n=64/eager/forward/t1/cpu,instructions,12345`";

bool read_number(CsvReader& reader, const CsvField& field, ExpectedCount& count) {
  const auto number = parse_number(field);
  if (number && *number >= 0) {
    count.value = *number;
    return true;
  }
  const std::string_view text = trim(field.text);
  return reader.refuse(field.begin,
                       text.empty() ? "there is no expected count"
                                    : fmt::format("`{}` is {}", printable(text),
                                                  number ? "negative" : "not a count"),
                       "write a number of 0 or more, such as `12345` or `12.5`");
}

bool read_margin(CsvReader& reader, const CsvField& field, ExpectedCount& count) {
  if (trim(field.text).empty()) return true;
  auto margin = parse_limit(from_cell(field.text));
  if (!margin) {
    return reader.refuse(field.begin, printable(margin.error().what),
                         std::move(margin.error().advice));
  }
  count.margin = *margin;
  return true;
}

tl::expected<CsvFile<ExpectedCount>, Errors> read_counts(const SourceText& source) {
  std::map<std::pair<std::string, std::string>, int> lines;  // by key and metric
  const auto read_line = [&lines](CsvReader& reader,
                                  const CsvRecord& record) -> std::optional<ExpectedCount> {
    const auto& fields = record.fields;
    ExpectedCount count{record.comment, from_cell(fields[0].text)};
    if (count.key.empty()) {
      reader.refuse(fields[0].begin, "the key is empty", "list shows all keys");
      return std::nullopt;
    }
    const bool has_metric = reader.read_metric(fields[1], count.metric);
    const bool has_number = read_number(reader, fields[2], count);
    const bool has_margin =
        fields.size() == kMinCountColumns || read_margin(reader, fields[3], count);
    if (!has_metric || !has_number || !has_margin) return std::nullopt;
    const auto [first, is_new] =
        lines.emplace(std::pair(count.key, count.metric), reader.line_of(fields[0]));
    if (is_new) return count;
    reader.refuse(fields[0].begin,
                  fmt::format("`{}` has two counts of `{}`; the first is on line {}",
                              printable(count.key), count.metric, first->second),
                  "remove one of them");
    return std::nullopt;
  };
  const CsvFormat format{
      {"key", "metric", "expected", "margin"}, kMinCountColumns, kCountAdvice, "expected counts"};
  return read_csv<ExpectedCount>(source, format, read_line);
}

ExpectedCounts make_baseline(const std::vector<ExpectedCount>& counts) {
  ExpectedCounts expected;
  auto& measurements = expected.baseline.measurements;
  std::map<std::string, std::size_t> places;
  for (const ExpectedCount& count : counts) {
    const auto [place, is_new] = places.emplace(count.key, measurements.size());
    Limits& limits = expected.limits[count.key];
    if (is_new) {
      Measurement& made = measurements.emplace_back();
      made.variant = parse_key(count.key);
      made.outcome = Counted{};
      std::get<Counted>(made.outcome).steady = true;
      for (const std::string& metric : limit_metrics())
        limits.hard[metric] = limits.soft[metric] = {};
    }
    auto& counted = std::get<Counted>(measurements[place->second].outcome);
    counted.metrics[count.metric] = count.value;
    if (count.metric == kInstructions)
      counted.first_block_instructions = counted.second_block_instructions = count.value;
    limits.hard.erase(count.metric);
    if (count.margin) {
      limits.hard[count.metric] = *count.margin;
    } else {
      limits.soft.erase(count.metric);
    }
  }
  return expected;
}

// Returns the reproducible numbers of a measurement, by metric.
std::map<std::string, double> select_exact_counts(const Measurement& measurement) {
  const auto* counted = std::get_if<Counted>(&measurement.outcome);
  if (counted == nullptr || !counted->gated || !counted->steady) return {};
  std::map<std::string, double> counts = counted->metrics;
  std::erase_if(counts,
                [](const auto& count) { return !std::isfinite(count.second) || count.second < 0; });
  return counts;
}

// Returns the metrics of the file, or all metrics if it has no count.
std::vector<std::string> list_metrics(const std::vector<ExpectedCount>& counts) {
  if (counts.empty()) return limit_metrics();
  std::set<std::string> metrics;
  for (const ExpectedCount& count : counts) metrics.insert(count.metric);
  return {metrics.begin(), metrics.end()};
}

using CountsByKey = std::map<std::string, std::map<std::string, double>>;

// Uses the first of two measurements of a key.
CountsByKey select_exact_counts(const std::vector<Measurement>& measurements) {
  CountsByKey counts;
  for (const Measurement& measurement : measurements) {
    const std::string& key = measurement.variant.key;
    if (!key.empty()) counts.emplace(key, select_exact_counts(measurement));
  }
  return counts;
}

// Changes the counts that were measured, and removes keys that were selected and not measured.
void update_known(std::vector<ExpectedCount>& counts, const CountsByKey& measured,
                  const IsSelected& is_selected, ExpectedUpdate& update) {
  std::set<std::string> removed;
  for (ExpectedCount& count : counts) {
    const auto values = measured.find(count.key);
    if (values == measured.end()) {
      if (is_selected(count.key)) removed.insert(count.key);
      continue;
    }
    const auto value = values->second.find(count.metric);
    if (value == values->second.end() || value->second == count.value) continue;
    count.value = value->second;
    ++update.changed;
  }
  std::erase_if(counts,
                [&removed](const ExpectedCount& count) { return removed.contains(count.key); });
  update.removed = removed.size();
}

// Adds the keys that the file does not have, with these metrics.
void add_new(std::vector<ExpectedCount>& counts, CountsByKey measured,
             const std::vector<std::string>& metrics, ExpectedUpdate& update) {
  for (const ExpectedCount& count : counts) measured.erase(count.key);
  for (const auto& [key, values] : measured) {
    const std::size_t before = counts.size();
    for (const std::string& metric : metrics) {
      const auto value = values.find(metric);
      if (value != values.end()) counts.push_back({"", key, metric, value->second});
    }
    if (counts.size() > before) ++update.added;
  }
}

std::string format_file(CsvFile<ExpectedCount> csv) {
  std::ranges::sort(csv.lines, {},
                    [](const ExpectedCount& count) { return std::tie(count.key, count.metric); });
  std::string text = csv.head;
  for (const ExpectedCount& count : csv.lines) {
    text += count.comment +
            csv_record({as_cell(count.key), count.metric, format_exactly(count.value),
                        count.margin ? to_string(*count.margin) : ""}) +
            "\n";
  }
  return text + csv.tail;
}

}  // namespace

tl::expected<ExpectedCounts, Errors> parse_expected_counts(const SourceText& source) {
  TRY_ASSIGN(const auto csv, read_counts(source));
  if (!csv.lines.empty()) return make_baseline(csv.lines);
  return fail(Errors{{source.at(0, 0), "there is no expected count in this file",
                      "--update-expected writes those that are measured"}});
}

tl::expected<ExpectedCounts, Errors> read_expected_counts(const fs::path& file) {
  TRY_ASSIGN(const auto source, SourceText::read(file));
  return parse_expected_counts(source);
}

tl::expected<void, Errors> check_expected_counts(const SourceText& source) {
  return read_counts(source).map([](const auto&) {});
}

tl::expected<ExpectedUpdate, Errors> update_expected_counts(
    const SourceText& source, const std::vector<Measurement>& measurements,
    const IsSelected& is_selected) {
  TRY_ASSIGN(auto csv, read_counts(source));
  std::vector<ExpectedCount>& counts = csv.lines;
  const std::vector<std::string> metrics = list_metrics(counts);
  const CountsByKey measured = select_exact_counts(measurements);
  ExpectedUpdate update;
  update_known(counts, measured, is_selected, update);
  add_new(counts, measured, metrics, update);
  update.text = format_file(std::move(csv));
  if (const auto readable = SourceText::checked(source.path(), update.text); !readable) {
    return fail(Errors{{{source.path()},
                        "a new key cannot be written: " + readable.error().what,
                        "rename the benchmark"}});
  }
  return update;
}

tl::expected<ExpectedUpdate, Errors> update_in_place(const fs::path& file,
                                                     const MakeUpdate& make_update) {
  const fs::path target = follow_links(file);
  TRY_ASSIGN(const auto source, SourceText::read_if_exists(file));
  auto update = make_update(source);
  if (!update || (update->changed == 0 && update->added == 0 && update->removed == 0))
    return update;
  TRY(replace_file(target, update->text));
  return update;
}

tl::expected<ExpectedUpdate, Errors> update_expected_file(
    const fs::path& file, const std::vector<Measurement>& measurements,
    const IsSelected& is_selected) {
  return update_in_place(file, [&](const SourceText& source) {
    return update_expected_counts(source, measurements, is_selected);
  });
}

}  // namespace instr
