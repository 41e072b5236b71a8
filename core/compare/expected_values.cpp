#include "core/compare/expected_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "core/base/csv.h"
#include "core/base/format.h"
#include "core/base/near_match.h"
#include "core/base/output_file.h"
#include "core/base/text.h"
#include "core/compare/csv_reader.h"
#include "core/definitions/metrics.h"

namespace instr {

namespace {

// The text of a file of expected counts, in one of two forms. This project's, with a header:
//   key,metric,expected,margin
//   matmul/mm/n=64/eager/forward/t1/cpu,instructions,12345,0.5%|+10
// and PyTorch's (benchmarks/dynamo/pr_time_benchmarks), without one; its margin is relative:
//   add_loop_eager,compile_time_instruction_count,3862000000,0.1

struct ExpectedCount {
  std::string comment;  // the comment above the line of the file
  std::string key;
  std::string metric = {};
  double value = 0;  // finite, not negative
  std::optional<Limit> margin = {};
  // Bytes of the file: where the line begins, and the value. 0 for a new count.
  std::size_t begin = 0;
  std::size_t value_begin = 0;
  std::size_t value_end = 0;
};

using ExpectedFile = CsvFile<ExpectedCount>;

// Keys by the name that PyTorch's form has for them.
using KeysByName = std::map<std::string, std::string>;

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

void round_counts(CountsByKey& counts) {
  for (auto& [key, values] : counts) {
    for (auto& [metric, value] : values) value = std::round(value);
  }
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

// Returns the keys of benchmarks with a single variant, by their labels.
KeysByName keys_by_name(std::span<const Variant> variants) {
  KeysByName keys;
  std::set<std::string> ambiguous;
  for (const Variant& variant : variants) {
    const bool is_new = keys.emplace(variant.label, variant.key).second;
    if (!is_new) ambiguous.insert(variant.label);
  }
  for (const std::string& label : ambiguous) keys.erase(label);
  return keys;
}

constexpr std::size_t kMinCountColumns = 3;  // the margin may be omitted
constexpr const char* kCountAdvice =
    "write for example `matmul/mm/n=64/eager/forward/t1/cpu,instructions,12345`";
constexpr const char* kPytorchAdvice =
    "write for example `add_loop_eager,compile_time_instruction_count,3862000000,0.1`";

// Returns null if PyTorch's form has no such metric.
const Metric* find_pytorch_metric(std::string_view name) {
  const auto metric = std::ranges::find_if(kMetrics, [name](const Metric& known) {
    return known.pytorch_name != nullptr && known.pytorch_name == name;
  });
  return metric == kMetrics.end() ? nullptr : &*metric;
}

bool read_value(CsvReader& reader, const CsvField& field, ExpectedCount& count) {
  count.value_begin = field.begin;
  count.value_end = field.end;
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

bool read_pytorch_metric(CsvReader& reader, const CsvField& field, ExpectedCount& count) {
  const std::string_view name = trim(field.text);
  if (const Metric* metric = find_pytorch_metric(name)) {
    count.metric = metric->name;
    return true;
  }
  return reader.refuse(
      field.begin, fmt::format("unknown metric `{}`", printable(name)),
      fmt::format("in this form it is {} or {}", find_metric(kCompileInstructions)->pytorch_name,
                  find_metric(kInstructions)->pytorch_name));
}

bool read_relative_margin(CsvReader& reader, const CsvField& field, ExpectedCount& count) {
  const auto margin = parse_number(field);
  if (!margin || *margin < 0) {
    return reader.refuse(field.begin, fmt::format("`{}` is not a margin", printable(field.text)),
                         "write a part of the count, such as `0.1` for 10%");
  }
  count.margin = Limit{*margin * 100, std::nullopt};
  return true;
}

// Reads a line of either form; nothing after an error.
std::optional<ExpectedCount> read_count(CsvReader& reader, const CsvRecord& record,
                                        bool is_pytorch) {
  const auto& fields = record.fields;
  ExpectedCount count{record.comment, from_cell(fields[0].text)};
  count.begin = record.begin;
  if (count.key.empty()) {
    reader.refuse(fields[0].begin, "the key is empty", "list shows all keys");
    return std::nullopt;
  }
  const bool has_metric = is_pytorch ? read_pytorch_metric(reader, fields[1], count)
                                     : reader.read_metric(fields[1], count.metric);
  const bool has_value = read_value(reader, fields[2], count);
  const bool has_margin = fields.size() == kMinCountColumns ||
                          (is_pytorch ? read_relative_margin(reader, fields[3], count)
                                      : read_margin(reader, fields[3], count));
  if (!has_metric || !has_value || !has_margin) return std::nullopt;
  return count;
}

// Refuses a second count of the same metric.
class Duplicates {
 public:
  bool check(CsvReader& reader, const CsvField& key, const ExpectedCount& count) {
    const auto [first, is_new] =
        lines_.emplace(std::pair(count.key, count.metric), reader.line_of(key));
    if (is_new) return true;
    return reader.refuse(key.begin,
                         fmt::format("`{}` has two counts of `{}`; the first is on line {}",
                                     printable(count.key), count.metric, first->second),
                         "remove one of them");
  }

 private:
  std::map<std::pair<std::string, std::string>, int> lines_;  // key and metric -> line
};

// A new line of PyTorch's form, with the metric's usual limit as its margin. A new key has metrics
// of the file's other keys, so the form has a name for it.
std::string pytorch_line(const ExpectedCount& count) {
  const Metric* const metric = find_metric(count.metric);
  const double margin = metric->hard_limit.percent.value_or(0) / 100;
  return "\n" +
         csv_record({count.key, metric->pytorch_name, fmt::format("{:.0f}", count.value),
                     fmt::format("{}", margin)}) +
         "\n\n\n";
}

bool is_pytorch_form(const SourceText& source) {
  std::string_view text = source.text();
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.starts_with('#') || trim(line).empty()) continue;
    const std::size_t comma = line.find(',');
    if (comma == std::string_view::npos) return false;
    const std::string_view rest = line.substr(comma + 1);
    return find_pytorch_metric(trim(rest.substr(0, rest.find(',')))) != nullptr;
  }
  return false;
}

// Returns all errors of the file, in its order. A name that is not in `keys` is a key itself.
tl::expected<ExpectedFile, Errors> read_expected_file(const SourceText& source,
                                                      const KeysByName& keys) {
  const bool is_pytorch = is_pytorch_form(source);
  Duplicates duplicates;
  const auto read_line = [&](CsvReader& reader,
                             const CsvRecord& record) -> std::optional<ExpectedCount> {
    auto count = read_count(reader, record, is_pytorch);
    if (!count) return std::nullopt;
    if (is_pytorch) {
      if (const auto key = keys.find(count->key); key != keys.end()) count->key = key->second;
    }
    if (!duplicates.check(reader, record.fields[0], *count)) return std::nullopt;
    return count;
  };
  const CsvFormat format{.columns = {"key", "metric", "expected", "margin"},
                         .min_columns = kMinCountColumns,
                         .record_advice = is_pytorch ? kPytorchAdvice : kCountAdvice,
                         .content = "expected counts",
                         .has_header = !is_pytorch};
  return read_csv<ExpectedCount>(source, format, read_line);
}

// Returns this project's form, sorted by key and metric. Comments keep their places.
std::string write_counts(ExpectedFile file) {
  std::ranges::sort(file.lines, {},
                    [](const ExpectedCount& count) { return std::tie(count.key, count.metric); });
  std::string text = file.head;
  for (const ExpectedCount& count : file.lines) {
    text += count.comment +
            csv_record({as_cell(count.key), count.metric, format_exactly(count.value),
                        count.margin ? to_string(*count.margin) : ""}) +
            "\n";
  }
  return text + file.tail;
}

// Returns PyTorch's form: `source`, which was read as `before`, with the values of `after`, without
// the lines that `after` lacks, and with new counts at the end. All other bytes stay.
std::string write_pytorch_counts(const SourceText& source, const ExpectedFile& before,
                                 const ExpectedFile& after) {
  const std::string_view old = source.text();
  std::string text;
  std::size_t copied = 0;  // bytes of the old text
  for (std::size_t i = 0; i < before.lines.size(); ++i) {
    const ExpectedCount& line = before.lines[i];
    const std::size_t next = i + 1 < before.lines.size() ? before.lines[i + 1].begin : old.size();
    const auto kept = std::ranges::find(after.lines, line.value_end, &ExpectedCount::value_end);
    if (kept == after.lines.end()) {
      text += old.substr(copied, line.begin - copied);
      copied = next;
    } else if (kept->value != line.value) {
      text += old.substr(copied, line.value_begin - copied);
      text += fmt::format("{:.0f}", kept->value);
      copied = line.value_end;
    }
  }
  text += old.substr(copied);
  for (const ExpectedCount& count : after.lines) {
    if (count.value_end == 0) text += pytorch_line(count);
  }
  return text;
}

constexpr const char* kCodeAdvice = "write for example `layers/GRUCell/frozen/forward/t1/cpu,PASS`";

tl::expected<CsvFile<ExpectedCode>, Errors> read_codes(const SourceText& source) {
  std::map<std::string, int> lines;  // key -> line
  const auto read_line = [&lines](CsvReader& reader,
                                  const CsvRecord& record) -> std::optional<ExpectedCode> {
    const CsvField& key = record.fields[0];
    const CsvField& code = record.fields[1];
    ExpectedCode line{from_cell(key.text), {}, record.comment};
    const auto refuse = [&reader](const CsvField& field, std::string what, std::string advice) {
      reader.refuse(field.begin, std::move(what), std::move(advice));
      return std::nullopt;
    };
    if (line.key.empty()) return refuse(key, "the key is empty", "list shows all keys");
    const auto [first, is_new] = lines.emplace(line.key, reader.line_of(key));
    if (!is_new) {
      return refuse(key,
                    fmt::format("`{}` has two codes; the first is on line {}", printable(line.key),
                                first->second),
                    "remove one of them");
    }
    const std::string word(trim(code.text));
    const auto known = verification_code_from(word);
    if (!known) {
      return refuse(code, fmt::format("unknown code `{}`", printable(word)),
                    did_you_mean(word, verification_code_names()));
    }
    line.code = *known;
    return line;
  };
  return read_csv<ExpectedCode>(source, {{"key", "code"}, 2, kCodeAdvice, "expected codes"},
                                read_line);
}

// The code that a file expects of an experiment. A failure in the timed runs is one, too, after a
// verification that has passed.
VerificationCode code_to_expect(const Measurement& record) {
  const bool is_failure = state_of(record) == MeasuredState::kFailed;
  if (!is_candidate(record.variant)) {
    return is_failure ? VerificationCode::kEagerFailed : VerificationCode::kPass;
  }
  const VerificationCode code = code_of(record);
  const bool is_known = Verification{code, ""}.is_wrong();
  return is_failure && !is_known ? VerificationCode::kExceptionRaised : code;
}

using ByKey = std::map<std::string, const Measurement*>;

// Indexes the experiments that have a code. Eager has one if it failed and its candidates' codes do
// not say so, or if the file has a line for it.
ByKey with_codes(std::span<const Measurement> records, const std::vector<ExpectedCode>& file) {
  ByKey by_key;
  std::set<std::string> covered;
  for (const Measurement& record : records) {
    if (state_of(record) == MeasuredState::kSkipped) continue;
    by_key[record.variant.key] = &record;
    if (is_candidate(record.variant) && code_of(record) == VerificationCode::kEagerFailed) {
      covered.insert(make_eager(record.variant).key);
    }
  }
  std::set<std::string> lines;
  for (const ExpectedCode& line : file) lines.insert(line.key);
  std::erase_if(by_key, [&](const auto& entry) {
    const auto& [key, record] = entry;
    if (is_candidate(record->variant) || lines.contains(key)) return false;
    return state_of(*record) != MeasuredState::kFailed || covered.contains(key);
  });
  return by_key;
}

std::set<std::string> keys_of(std::span<const Measurement> records) {
  std::set<std::string> keys;
  for (const Measurement& record : records) keys.insert(record.variant.key);
  return keys;
}

std::string format_codes(CsvFile<ExpectedCode> csv) {
  std::ranges::sort(csv.lines, {}, &ExpectedCode::key);
  std::string text = csv.head;
  for (const ExpectedCode& line : csv.lines) {
    text += line.comment + csv_record({as_cell(line.key), to_string(line.code)}) + "\n";
  }
  return text + csv.tail;
}

std::string format_differences(const std::string& heading,
                               const std::vector<CodeDifference>& differences) {
  std::string text = differences.empty() ? "" : heading + "\n";
  for (const CodeDifference& difference : differences) {
    text += fmt::format("- {}: {}, expected {}", printable(difference.key),
                        to_string(difference.code), to_string(difference.expected));
    if (!difference.reason.empty() && difference.code != VerificationCode::kPass) {
      text += fmt::format(" ({})", printable(difference.reason));
    }
    text += "\n";
  }
  return text;
}

std::string format_comparison(const CodeComparison& compared, const std::string& file) {
  std::string text = fmt::format("{}: {} as expected", file, compared.same);
  for (const auto& [count, what] : {std::pair{compared.worse.size(), "worse"},
                                    {compared.better.size(), "better"},
                                    {compared.missing.size(), "missing"},
                                    {compared.fresh, "not in the file"}}) {
    if (count != 0) text += fmt::format(", {} {}", count, what);
  }
  text += "\n" + format_differences("worse than expected:", compared.worse);
  text += format_differences("better than expected (--update-expected-codes writes it):",
                             compared.better);
  if (compared.missing.empty()) return text;
  text += "in the file, but none of these experiments (--update-expected-codes removes them):\n";
  for (const std::string& key : compared.missing) text += fmt::format("- {}\n", printable(key));
  return text;
}

// Replaces the file with its update in one step, or creates it. A file that needs no change is not
// written.
using MakeUpdate = std::function<tl::expected<ExpectedUpdate, Errors>(const SourceText& source)>;

tl::expected<ExpectedUpdate, Errors> update_in_place(const fs::path& file,
                                                     const MakeUpdate& make_update) {
  const fs::path target = follow_links(file);
  TRY_ASSIGN(const auto source, SourceText::read_if_exists(file));
  auto update = make_update(source);
  if (!update || (update->changed == 0 && update->added == 0 && update->removed == 0))
    return update;
  TRY(replace_file(target, source.with_line_ends(update->text)));
  return update;
}

}  // namespace

tl::expected<ExpectedCounts, Errors> parse_expected_counts(const SourceText& source,
                                                           std::span<const Variant> variants) {
  TRY_ASSIGN(const auto file, read_expected_file(source, keys_by_name(variants)));
  if (!file.lines.empty()) return make_baseline(file.lines);
  return fail(Errors{{source.at(0, 0), "there is no expected count in this file",
                      "--update-expected writes those that are measured"}});
}

tl::expected<ExpectedCounts, Errors> read_expected_counts(const fs::path& file,
                                                          std::span<const Variant> variants) {
  TRY_ASSIGN(const auto source, SourceText::read(file));
  return parse_expected_counts(source, variants);
}

tl::expected<void, Errors> check_expected_counts(const SourceText& source) {
  return read_expected_file(source, {}).map([](const auto&) {});
}

tl::expected<ExpectedUpdate, Errors> update_expected_counts(
    const SourceText& source, const std::vector<Measurement>& measurements,
    const IsSelected& is_selected) {
  std::vector<Variant> variants;
  for (const Measurement& measurement : measurements) variants.push_back(measurement.variant);
  TRY_ASSIGN(const auto before, read_expected_file(source, keys_by_name(variants)));
  ExpectedFile after = before;
  const bool is_pytorch = is_pytorch_form(source);
  CountsByKey measured = select_exact_counts(measurements);
  if (is_pytorch) round_counts(measured);  // this form has whole numbers
  ExpectedUpdate update;
  update_known(after.lines, measured, is_selected, update);
  add_new(after.lines, measured, list_metrics(before.lines), update);
  update.text =
      is_pytorch ? write_pytorch_counts(source, before, after) : write_counts(std::move(after));
  if (const auto readable = SourceText::checked(source.path(), update.text); !readable) {
    return fail(Errors{{{source.path()},
                        "a new key cannot be written: " + readable.error().what,
                        "rename the benchmark"}});
  }
  return update;
}

tl::expected<ExpectedUpdate, Errors> update_expected_file(
    const fs::path& file, const std::vector<Measurement>& measurements,
    const IsSelected& is_selected) {
  return update_in_place(file, [&](const SourceText& source) {
    return update_expected_counts(source, measurements, is_selected);
  });
}

tl::expected<std::vector<ExpectedCode>, Errors> parse_expected_codes(const SourceText& source) {
  TRY_ASSIGN(auto csv, read_codes(source));
  return std::move(csv.lines);
}

CodeComparison compare_codes(const std::vector<ExpectedCode>& expected,
                             std::span<const Measurement> records, const IsSelected& is_selected) {
  CodeComparison comparison;
  ByKey rest = with_codes(records, expected);
  const std::set<std::string> keys = keys_of(records);
  for (const ExpectedCode& line : expected) {
    const auto matching = rest.extract(line.key);
    if (matching.empty()) {
      if (!keys.contains(line.key) && is_selected(line.key)) comparison.missing.push_back(line.key);
      continue;
    }
    const Measurement& record = *matching.mapped();
    const VerificationCode code = code_to_expect(record);
    if (code == line.code) {
      ++comparison.same;
      if (Verification{line.code, ""}.is_wrong()) comparison.failing.push_back(line.key);
      // Eager's own line has no code: it fails as expected if these lines expect that.
      if (line.code == VerificationCode::kEagerFailed && is_candidate(record.variant)) {
        comparison.failing.push_back(make_eager(record.variant).key);
      }
      continue;
    }
    auto& differences = code == VerificationCode::kPass ? comparison.better : comparison.worse;
    differences.push_back({line.key, line.code, code,
                           code == code_of(record) && record.verification
                               ? record.verification->reason
                               : reason_of(record)});
  }
  comparison.fresh = rest.size();
  return comparison;
}

tl::expected<ExpectedUpdate, Errors> update_expected_codes(const SourceText& source,
                                                           std::span<const Measurement> records,
                                                           const IsSelected& is_selected) {
  TRY_ASSIGN(auto csv, read_codes(source));
  std::vector<ExpectedCode>& codes = csv.lines;
  ExpectedUpdate update;
  ByKey rest = with_codes(records, codes);
  const std::set<std::string> keys = keys_of(records);
  for (ExpectedCode& line : codes) {
    const auto matching = rest.extract(line.key);
    if (matching.empty() || code_to_expect(*matching.mapped()) == line.code) continue;
    line.code = code_to_expect(*matching.mapped());
    ++update.changed;
  }
  update.removed = std::erase_if(codes, [&](const ExpectedCode& line) {
    return !keys.contains(line.key) && is_selected(line.key);
  });
  for (const auto& [key, record] : rest) codes.push_back({key, code_to_expect(*record)});
  update.added = rest.size();
  update.text = format_codes(std::move(csv));
  return update;
}

tl::expected<std::vector<ExpectedCode>, Errors> read_codes_to_expect(const CodesOptions& options) {
  if (!options.file) return {};
  TRY_ASSIGN(const auto source, options.update ? SourceText::read_if_exists(*options.file)
                                               : SourceText::read(*options.file));
  auto codes = parse_expected_codes(source);
  if (!codes || !codes->empty() || options.update) return codes;
  return fail(Errors{{source.at(0, 0), "there is no expected code in this file",
                      "--update-expected-codes writes those that are measured"}});
}

tl::expected<CodesVerdict, Errors> judge_codes(const CodesOptions& options,
                                               const std::vector<ExpectedCode>& expected,
                                               std::span<const Measurement> records,
                                               const IsSelected& is_selected) {
  if (!options.file) return {};
  const std::string file = options.file->string();
  if (options.update) {
    TRY_ASSIGN(const auto updated, update_in_place(*options.file, [&](const SourceText& source) {
                 return update_expected_codes(source, records, is_selected);
               }));
    return CodesVerdict{fmt::format("{}: {} changed, {} added, {} removed\n", file, updated.changed,
                                    updated.added, updated.removed)};
  }
  const CodeComparison compared = compare_codes(expected, records, is_selected);
  return CodesVerdict{format_comparison(compared, file),
                      !compared.worse.empty() || !compared.missing.empty(),
                      {compared.failing.begin(), compared.failing.end()}};
}

}  // namespace instr
