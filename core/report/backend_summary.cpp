#include "core/report/backend_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <tuple>

#include "core/base/format.h"
#include "core/definitions/axes.h"
#include "core/definitions/variant.h"
#include "core/results/measurement.h"
#include "core/results/significance.h"

namespace instr {

namespace {

std::optional<double> mean(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

constexpr double kNanoseconds = 1e9;  // nanoseconds per second

struct Collected {
  BackendSummary summary;
  std::vector<double> speedups;
  std::vector<double> memory_ratios;
  std::vector<double> compile_times;
  std::vector<double> compile_cpu_times;
  std::vector<double> coverage_operators;
  std::vector<double> coverage_times;
  std::vector<double> per_model;  // speed-ups
  std::vector<double> first_results;
  std::vector<double> ready;
};

bool is_measured(const Measurement& record) { return find_timing(record) != nullptr; }

// Returns the code or, for a correct result that could not be measured, the failure.
std::string failure_or_code(const Measurement& record) {
  const auto* failure = std::get_if<Failure>(&record.outcome);
  const VerificationCode code = code_of(record);
  const bool is_right = code == VerificationCode::kPass && failure != nullptr;
  return is_right ? to_string(failure->kind) : to_string(code);
}

std::map<std::string, std::size_t> count_chosen(const Measurement& record) {
  std::map<std::string, std::size_t> chosen;
  const auto* counted = std::get_if<Counted>(&record.outcome);
  if (counted == nullptr || !counted->compiler) return chosen;
  for (const GraphChoice& choice : counted->compiler->choices) ++chosen[choice.chosen];
  return chosen;
}

void add_median(const std::vector<double>& values, std::vector<double>& to) {
  if (!values.empty()) to.push_back(median(values));
}

std::optional<double> find_median(const std::vector<double>& values) {
  return values.empty() ? std::nullopt : std::optional(median(values));
}

void add(const AgainstEager& experiment, Collected& to) {
  BackendSummary& summary = to.summary;
  ++summary.requested;
  if (is_measured(*experiment.record)) ++summary.measured;
  if (!experiment.has_passed()) {
    if (!experiment.is_eager()) ++summary.not_passed[failure_or_code(*experiment.record)];
    return;
  }
  ++summary.passed;
  if (const Timing* timing = find_timing(*experiment.record)) {
    add_median(timing->of(kFirstResultTime), to.first_results);
    add_median(timing->of(kReadyTime), to.ready);
  }
  if (experiment.is_eager()) return;
  if (experiment.speedup) to.speedups.push_back(experiment.speedup->ratio);
  if (experiment.speedup && experiment.disturbance) ++summary.disturbed;
  if (experiment.memory_ratio) to.memory_ratios.push_back(*experiment.memory_ratio);
  if (experiment.compile_time) to.compile_times.push_back(*experiment.compile_time);
  if (experiment.compile_cpu_time) to.compile_cpu_times.push_back(*experiment.compile_cpu_time);
  const Measurement& record = *experiment.record;
  if (const auto share = find_metric_of(record, kCoverageOperators)) {
    to.coverage_operators.push_back(*share);
    to.coverage_times.push_back(find_metric_of(record, kCoverageTime).value_or(0));
  }
  for (const auto& [name, count] : count_chosen(record)) summary.chosen[name] += count;
}

// Returns eager's times, or null.
const Timing* find_eager_timing(const std::vector<const Measurement*>& alternatives) {
  for (const Measurement* measurement : alternatives) {
    if (measurement == nullptr || measurement->variant.backend != Backend::kEager) continue;
    if (const Timing* timing = find_working_timing(*measurement)) return timing;
  }
  return nullptr;
}

// Returns the wall times in units of eager's median, which takes out the machine's speed when they
// were measured; without eager in nanoseconds.
std::vector<double> relative_times(const Timing& timing, const Timing* eager) {
  std::vector<double> times = timing.of(kWall);
  double unit = median(timing.eager);
  if (timing.eager.empty()) unit = eager == nullptr ? 1 : median(eager->of(kWall));
  for (double& time : times) time /= unit;
  return times;
}

// The number of threads is separate, since it is ordered as a number.
constexpr const char* kGroupAxes[] = {"device", "test",          "dtype",
                                      "shapes", "memory_format", "setting"};

using SummaryKey = std::tuple<SummaryGroup, Language, Backend>;

SummaryKey summary_key(const Measurement& record, Grouping grouping) {
  return {grouping == Grouping::kNone ? SummaryGroup() : group_of(record), record.variant.language,
          record.variant.backend};
}

// Counts how often each backend is the fastest.
void count_fastest(const std::vector<AgainstEager>& all, Grouping grouping,
                   std::map<SummaryKey, Collected>& collected) {
  std::map<std::pair<std::string, Benchmark>, std::vector<const Measurement*>> rivals;
  for (const AgainstEager& experiment : all) {
    rivals[{suite_of(experiment.record->variant), benchmark_of(experiment.record->variant)}]
        .push_back(experiment.record);
  }
  for (const auto& [benchmark, records] : rivals) {
    const Measurement* fastest = find_fastest(records);
    if (fastest != nullptr) ++collected[summary_key(*fastest, grouping)].summary.fastest;
  }
}

// Adds, for each experiment that chose backends for its graphs, the speed-up of the fastest other
// backend, which is eager if no other is faster.
void add_per_model(const std::vector<AgainstEager>& all, Grouping grouping,
                   std::map<SummaryKey, Collected>& collected) {
  std::map<std::pair<std::string, Benchmark>, double> fastest;
  const auto name = [](const AgainstEager& one) {
    return std::pair(suite_of(one.record->variant), benchmark_of(one.record->variant));
  };
  const auto is_chooser = [](const AgainstEager& one) {
    return !count_chosen(*one.record).empty();
  };
  for (const AgainstEager& one : all) {
    if (one.is_eager() || is_chooser(one) || !one.speedup) continue;
    double& ratio = fastest.try_emplace(name(one), 1).first->second;
    ratio = std::max(ratio, one.speedup->ratio);
  }
  for (const AgainstEager& one : all) {
    const auto found = fastest.find(name(one));
    if (!is_chooser(one) || !one.speedup || found == fastest.end()) continue;
    collected[summary_key(*one.record, grouping)].per_model.push_back(found->second);
  }
}

// True if two backends of a language work.
bool have_choice(const std::vector<BackendSummary>& summaries) {
  std::map<Language, std::size_t> working;
  for (const BackendSummary& summary : summaries) {
    if (summary.passed != 0 && ++working[summary.language] == 2) return true;
  }
  return false;
}

DocumentCell nanoseconds_cell(const std::optional<double>& time) {
  return time ? DocumentCell{format_time(*time)} : DocumentCell{"-", Tone::kDim};
}

DocumentCell works_cell(const BackendSummary& summary) {
  return {fmt::format("{} of {}", summary.passed, summary.requested),
          summary.passed == summary.requested ? Tone::kPlain : Tone::kWarning};
}

DocumentCell ratio_cell(const BackendSummary& summary, const std::optional<double>& to_eager) {
  if (summary.backend == Backend::kEager && summary.passed != 0) return {"1.00x", Tone::kDim};
  return to_eager ? DocumentCell{fmt::format("{:.2f}x", *to_eager)} : DocumentCell{"-", Tone::kDim};
}

DocumentCell times_cell(const std::optional<double>& value, const char* mark = "") {
  if (!value) return {"-", Tone::kDim};
  return number_cell(*value, fmt::format("{}{:.2f}x", mark, *value));
}

DocumentCell share_cell(std::size_t part, std::size_t whole) {
  double percent = whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  return {fmt::format("{} of {} ({:.0f}%)", part, whole, percent),
          part == whole ? Tone::kGood : Tone::kWarning, std::to_string(part)};
}

std::string not_passed_text(const BackendSummary& summary) {
  std::string text;
  for (const auto& [reason, count] : summary.not_passed) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, reason);
  }
  return text;
}

// The parts of a group's name.
std::vector<std::string> parts_of(const SummaryGroup& group) {
  std::vector<std::string> parts{printable(group.suite)};
  parts.insert(parts.end(), group.values.begin(), group.values.end());
  parts.push_back(format_plural(static_cast<std::size_t>(group.threads), "thread"));
  return parts;
}

// Returns the parts of each group's name that are not common to all: "timm train amp".
std::vector<std::string> group_names(const std::vector<BackendSummary>& summaries) {
  std::vector<std::vector<std::string>> all;
  for (const BackendSummary& summary : summaries) all.push_back(parts_of(summary.group));
  std::vector<std::string> names(all.size());
  for (std::size_t part = 0; !all.empty() && part < all[0].size(); ++part) {
    const auto is_first = [&](const auto& parts) { return parts[part] == all[0][part]; };
    if (std::all_of(all.begin(), all.end(), is_first)) continue;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const char* gap = names[i].empty() || all[i][part].empty() ? "" : " ";
      names[i] += gap + all[i][part];
    }
  }
  return names;
}

DocumentCell not_passed_cell(const BackendSummary& summary) {
  DocumentCell cell = text_cell(not_passed_text(summary));
  cell.tone = cell.text.empty() ? Tone::kDim : Tone::kWarning;
  if (cell.text.empty()) cell.text = "-";
  return cell;
}

// "inductor 161, eager 32"
std::string format_chosen(const std::map<std::string, std::size_t>& chosen) {
  std::vector<std::pair<std::string, std::size_t>> sorted(chosen.begin(), chosen.end());
  std::ranges::stable_sort(sorted, std::greater(), &std::pair<std::string, std::size_t>::second);
  std::string text;
  for (const auto& [name, count] : sorted) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", printable(name), count);
  }
  return text;
}

std::string name_backend(const BackendSummary& summary) {
  return format_column_name(summary.language, summary.backend, Autograd::kForward);
}

// Shows the name of the backend, after that of its group, if it has one.
DocumentCell full_name_cell(const std::string& group, const BackendSummary& summary) {
  return text_cell(group.empty() ? name_backend(summary) : group + " " + name_backend(summary));
}

// A column of experiment_table() after the first.
struct SummaryColumn {
  DocumentColumn column;
  std::function<DocumentCell(const BackendSummary&)> cell;
  bool is_of_eager = false;  // it also has values for eager
};

DocumentColumn hidden_column(const char* name) {
  return {.heading = "", .name = name, .is_hidden = true};
}

// Adds the columns that only experiments with --coverage, or with the backend `best`, fill.
void add_columns_of_graphs(const std::vector<BackendSummary>& summaries,
                           std::vector<SummaryColumn>& columns) {
  using Summary = BackendSummary;
  if (std::ranges::any_of(summaries,
                          [](const Summary& one) { return one.coverage_time.has_value(); })) {
    columns.push_back({{"operators in graphs", kCoverageOperators},
                       [](const Summary& one) { return percent_cell(one.coverage_operators); }});
    columns.push_back({{"time in graphs", kCoverageTime},
                       [](const Summary& one) { return percent_cell(one.coverage_time); }});
  }
  if (std::ranges::any_of(summaries, [](const Summary& one) { return !one.chosen.empty(); })) {
    columns.push_back({hidden_column("speedup_per_model"),
                       [](const Summary& one) { return times_cell(one.speedup_per_model); }});
    columns.push_back({hidden_column("chosen"),
                       [](const Summary& one) { return text_cell(format_chosen(one.chosen)); }});
  }
}

std::vector<SummaryColumn> summary_columns(const std::vector<BackendSummary>& summaries,
                                           const SummaryOptions& options) {
  using Summary = BackendSummary;
  const auto mark = [](const Summary& one) { return one.disturbed != 0 ? kDisturbed : ""; };
  const auto hidden_count = [](std::size_t count) {
    return DocumentCell{.text = "", .value = std::to_string(count)};
  };
  std::vector<SummaryColumn> columns{
      {hidden_column("requested"), [=](const Summary& one) { return hidden_count(one.requested); },
       true},
      {{"measured", "measured"},
       [](const Summary& one) { return share_cell(one.measured, one.requested); },
       true},
      {{"passed", "passed"},
       [](const Summary& one) { return share_cell(one.passed, one.requested); }},
      {{"speed-up", "speedup"},
       [=](const Summary& one) { return times_cell(one.speedup, mark(one)); }}};
  if (options.has_arithmetic_mean) {
    columns.push_back({{"arithmetic mean", "speedup_arithmetic"}, [=](const Summary& one) {
                         return times_cell(one.arithmetic_speedup, mark(one));
                       }});
  }
  for (SummaryColumn& column : std::vector<SummaryColumn>{
           {hidden_column("disturbed"),
            [=](const Summary& one) { return hidden_count(one.disturbed); }, true},
           {{"fastest", "fastest"},
            [](const Summary& one) { return count_cell(one.fastest); },
            true},
           {{"compile time", kCompileTime},
            [](const Summary& one) { return seconds_cell(one.compile_time); }},
           {{"compile CPU", "compile_cpu"},
            [](const Summary& one) { return seconds_cell(one.compile_cpu_time); }},
           {{"memory saved", "memory_saved"},
            [](const Summary& one) { return times_cell(one.memory_ratio); }}}) {
    columns.push_back(std::move(column));
  }
  add_columns_of_graphs(summaries, columns);
  columns.push_back({{"not passed", "not_passed"}, not_passed_cell});
  return columns;
}

// The ratio to eager of a time or size; nothing if either is not above 0.
std::optional<double> times_better(double of_eager, double of_this) {
  if (!(of_eager > 0) || !(of_this > 0)) return std::nullopt;
  return of_eager / of_this;
}

std::optional<std::string> find_disturbance_of(const Measurement& record) {
  const Timing* timing = find_timing(record);
  if (timing == nullptr || timing->eager.empty()) return "not timed alternately with eager";
  return find_disturbance(*timing);
}

}  // namespace

Benchmark benchmark_of(const Variant& variant) {
  return {variant.label,   variant.params, variant.autograd,
          variant.threads, variant.device, variant.language};
}

std::optional<double> seconds_of(const Measurement& record, const char* metric) {
  auto time = find_metric_of(record, metric);
  if (time) *time /= kNanoseconds;
  return time;
}

bool has_passed(const Measurement& measurement) {
  const auto& verification = measurement.verification;
  return !verification || verification->code == VerificationCode::kPass;
}

const Timing* find_working_timing(const Measurement& measurement) {
  return has_passed(measurement) ? find_timing(measurement) : nullptr;
}

std::optional<double> find_working_metric(const Measurement& measurement,
                                          const std::string& metric) {
  return has_passed(measurement) ? find_metric_of(measurement, metric) : std::nullopt;
}

std::optional<double> find_working_peak(const Measurement& measurement) {
  auto on_device = find_working_metric(measurement, kDevicePeakBytes);
  return on_device ? on_device : find_working_metric(measurement, kPeakBytes);
}

const Measurement* find_fastest(const std::vector<const Measurement*>& alternatives) {
  struct Rival {
    const Measurement* measurement;
    std::vector<double> times;
  };
  const Timing* of_eager = find_eager_timing(alternatives);
  std::vector<Rival> rivals;
  for (const Measurement* measurement : alternatives) {
    const Timing* timing = measurement == nullptr ? nullptr : find_working_timing(*measurement);
    if (timing != nullptr) rivals.push_back({measurement, relative_times(*timing, of_eager)});
  }
  if (rivals.size() < 2) return nullptr;
  const Rival min =
      *std::ranges::min_element(rivals, {}, [](const Rival& rival) { return median(rival.times); });
  const auto is_as_fast = [&min](const Rival& rival) {
    const auto ratio = speedup(rival.times, min.times);
    return rival.measurement == min.measurement || (ratio && ratio->is_same());
  };
  std::ranges::stable_sort(rivals, {},
                           [](const Rival& rival) { return rival.measurement->variant.backend; });
  return std::ranges::find_if(rivals, is_as_fast)->measurement;
}

DocumentCell seconds_cell(const std::optional<double>& seconds) {
  if (!seconds) return {"-", Tone::kDim};
  return number_cell(*seconds, format_time(*seconds * kNanoseconds));
}

bool AgainstEager::has_passed() const { return is_measured(*record) && instr::has_passed(*record); }

std::vector<AgainstEager> compare_with_eager(std::span<const Measurement> records) {
  std::map<std::string, const Measurement*> by_key;
  for (const Measurement& record : records) by_key[record.variant.key] = &record;
  std::vector<AgainstEager> all;
  for (const auto& [key, record] : by_key) {
    if (state_of(*record) == MeasuredState::kSkipped) continue;
    AgainstEager& experiment = all.emplace_back();
    experiment.record = record;
    const auto eager = by_key.find(make_eager(record->variant).key);
    if (eager != by_key.end() && is_measured(*eager->second)) experiment.eager = eager->second;
    // Eager may have been timed beside itself, which shows what chance does.
    const Timing* timing = find_timing(*record);
    const bool has_speedup =
        timing != nullptr && (!experiment.is_eager() || !timing->eager.empty());
    if (!has_speedup || !experiment.has_passed()) continue;
    if (!experiment.is_eager()) {
      experiment.compile_time = seconds_of(*record, kCompileTime);
      experiment.compile_cpu_time = seconds_of(*record, kCompileCpu);
    }
    const Measurement* reference = experiment.eager;
    const Timing* of_eager = reference == nullptr ? nullptr : find_timing(*reference);
    experiment.speedup = speedup_over(of_eager == nullptr ? Timing{} : *of_eager, *timing);
    experiment.disturbance = find_disturbance_of(*record);
    if (reference == nullptr) continue;
    experiment.memory_ratio = times_better(find_working_peak(*reference).value_or(0),
                                           find_working_peak(*record).value_or(0));
  }
  return all;
}

SummaryGroup group_of(const Measurement& record) {
  const Variant& variant = record.variant;
  SummaryGroup group{suite_of(record.variant), {}, variant.threads};
  for (const char* axis : kGroupAxes) group.values.push_back(find_axis_value(axis, variant));
  return group;
}

std::vector<BackendSummary> summarize_backends(std::span<const Measurement> measurements,
                                               Grouping grouping) {
  const std::vector<AgainstEager> all = compare_with_eager(measurements);
  std::map<SummaryKey, Collected> collected;
  for (const AgainstEager& one : all) {
    const SummaryKey key = summary_key(*one.record, grouping);
    Collected& to = collected[key];
    std::tie(to.summary.group, to.summary.language, to.summary.backend) = key;
    add(one, to);
  }
  count_fastest(all, grouping, collected);
  add_per_model(all, grouping, collected);
  std::vector<BackendSummary> summaries;
  for (auto& [where, item] : collected) {
    item.summary.speedup = geometric_mean(item.speedups);
    item.summary.arithmetic_speedup = mean(item.speedups);
    item.summary.memory_ratio = geometric_mean(item.memory_ratios);
    item.summary.compile_time = mean(item.compile_times);
    item.summary.compile_cpu_time = mean(item.compile_cpu_times);
    item.summary.coverage_operators = mean(item.coverage_operators);
    item.summary.coverage_time = mean(item.coverage_times);
    item.summary.speedup_per_model = geometric_mean(item.per_model);
    item.summary.first_result = find_median(item.first_results);
    item.summary.ready = find_median(item.ready);
    summaries.push_back(std::move(item.summary));
  }
  return summaries;
}

std::optional<DocumentTable> backend_table(const std::vector<Measurement>& measurements) {
  const auto summaries = summarize_backends(measurements, Grouping::kNone);
  if (!have_choice(summaries)) return std::nullopt;
  bool has_starts = false;
  bool has_memory = false;
  for (const BackendSummary& summary : summaries) {
    has_starts = has_starts || summary.first_result;
    has_memory = has_memory || summary.memory_ratio;
  }
  DocumentTable table{.columns = {{.heading = "", .name = "backend", .align = Align::kLeft},
                                  {"works"},
                                  {"fastest"},
                                  {"speed-up"}},
                      .too_wide = TooWide::kStacked,
                      .stacked_title = "by backend:"};
  if (has_memory) table.columns.push_back({"memory saved"});
  if (has_starts) {
    for (const char* metric : {kFirstResultTime, kReadyTime}) {
      table.columns.push_back({find_metric(metric)->heading});
    }
  }
  for (const BackendSummary& summary : summaries) {
    DocumentRow row{
        .cells = {{format_column_name(summary.language, summary.backend, Autograd::kForward)},
                  works_cell(summary),
                  count_cell(summary.fastest),
                  ratio_cell(summary, summary.speedup)}};
    if (has_memory) row.cells.push_back(ratio_cell(summary, summary.memory_ratio));
    if (has_starts) {
      row.cells.push_back(nanoseconds_cell(summary.first_result));
      row.cells.push_back(nanoseconds_cell(summary.ready));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

DocumentCell percent_cell(const std::optional<double>& share) {
  if (!share) return {"-", Tone::kDim};
  return number_cell(*share, fmt::format("{:.1f}%", 100 * *share));
}

DocumentTable experiment_table(const std::vector<BackendSummary>& summaries,
                               const SummaryOptions& options) {
  DocumentTable table{.columns = {{.heading = "", .name = "backend", .align = Align::kLeft}},
                      .too_wide = TooWide::kStacked,
                      .stacked_title = "by backend:"};
  const std::vector<SummaryColumn> columns = summary_columns(summaries, options);
  for (const SummaryColumn& each : columns) table.columns.push_back(each.column);
  const std::vector<std::string> names = group_names(summaries);
  for (std::size_t i = 0; i < summaries.size(); ++i) {
    const BackendSummary& summary = summaries[i];
    DocumentRow row{.cells = {full_name_cell(names[i], summary)},
                    .group = names[i],
                    .name = name_backend(summary)};
    for (const SummaryColumn& each : columns) {
      const bool has_value = each.is_of_eager || summary.backend != Backend::kEager;
      row.cells.push_back(has_value ? each.cell(summary) : DocumentCell{"-", Tone::kDim});
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::optional<DocumentTable> choice_table(const std::vector<BackendSummary>& summaries) {
  DocumentTable table{.title = "backends chosen by graph",
                      .columns = {{.heading = "", .name = "backend", .align = Align::kLeft},
                                  {kGraphCount, kGraphCount},
                                  {"best per graph", "speedup"},
                                  {"best per model", "speedup_per_model"},
                                  {"chosen", "chosen", Align::kLeft}},
                      .too_wide = TooWide::kStacked};
  const std::vector<std::string> names = group_names(summaries);
  for (std::size_t i = 0; i < summaries.size(); ++i) {
    const BackendSummary& summary = summaries[i];
    if (summary.chosen.empty()) continue;
    std::size_t graphs = 0;
    for (const auto& [name, count] : summary.chosen) graphs += count;
    table.rows.push_back(
        {.cells = {full_name_cell(names[i], summary), count_cell(graphs),
                   times_cell(summary.speedup), times_cell(summary.speedup_per_model),
                   text_cell(format_chosen(summary.chosen))}});
  }
  if (table.rows.empty()) return std::nullopt;
  return table;
}

double timed_seconds(const Measurement& record) {
  const Timing* timing = find_timing(record);
  if (timing == nullptr) return 0;
  double sum = 0;
  for (const double wall : timing->of(kWall)) sum += wall;
  return sum * static_cast<double>(timing->iterations) / kNanoseconds;
}

std::string experiment_line(const std::vector<Measurement>& records) {
  std::map<MeasuredState, std::size_t> states;
  for (const Measurement& record : records) ++states[state_of(record)];
  std::string text =
      fmt::format("{}: {} measured", format_plural(records.size(), "experiment"),
                  format_count(static_cast<double>(states[MeasuredState::kMeasured])));
  if (auto failed = states[MeasuredState::kFailed]) text += fmt::format(", {} failed", failed);
  if (auto skipped = states[MeasuredState::kSkipped]) text += fmt::format(", {} skipped", skipped);
  std::map<std::string, std::size_t> chosen;
  for (const Measurement& record : records) {
    if (!has_passed(record)) continue;
    for (const auto& [name, count] : count_chosen(record)) chosen[name] += count;
  }
  if (!chosen.empty()) text += "; best per graph: " + format_chosen(chosen);
  return text;
}

Document experiment_document(const std::vector<Measurement>& records, bool shows_each,
                             const SummaryOptions& options) {
  Document document;
  if (shows_each) document.tables.push_back(each_experiment_table(records, options.flags));
  const auto summaries = summarize_backends(records, Grouping::kBySuiteAndAxes);
  document.tables.push_back(experiment_table(summaries, options));
  add_records(document, document.tables.front());
  if (auto choices = choice_table(summaries)) document.tables.push_back(*std::move(choices));
  for (DocumentTable& table : find_findings(records, options.flags)) {
    document.tables.push_back(std::move(table));
  }
  document.notes = {{.kind = DocumentNote::Kind::kConclusion, .text = experiment_line(records)}};
  return document;
}

}  // namespace instr
