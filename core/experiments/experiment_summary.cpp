#include "core/experiments/experiment_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <tuple>

#include "core/base/format.h"
#include "core/definitions/axes.h"
#include "core/definitions/variant.h"
#include "core/report/backend_summary.h"
#include "core/results/disturbance.h"
#include "core/results/verification.h"

namespace instr {

namespace {

std::optional<double> mean(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

struct Collected {
  ExperimentSummary summary;
  std::vector<double> speedups;
  std::vector<double> memory_ratios;
  std::vector<double> compile_times;
  std::vector<double> compile_cpu_times;
};

std::optional<double> metric(const ExperimentRecord& record, const char* name) {
  auto entry = record.metrics.find(name);
  return entry == record.metrics.end() ? std::nullopt : std::optional(entry->second);
}

double peak_of(const ExperimentRecord& record) {
  const char* name = is_on_cuda(record.variant) ? "cuda_peak_memory_bytes" : "peak_memory_bytes";
  return metric(record, name).value_or(0);
}

bool is_measured(const ExperimentRecord& record) {
  return record.state == ExperimentState::kMeasured;
}

// Returns the code or, for a correct result that could not be measured, the failure.
std::string failure_or_code(const ExperimentRecord& record) {
  const bool is_right = record.code == VerificationCode::kPass && record.failure;
  return is_right ? to_string(*record.failure) : to_string(record.code);
}

void add(const AgainstEager& experiment, Collected& to) {
  ExperimentSummary& summary = to.summary;
  ++summary.requested;
  if (is_measured(*experiment.record)) ++summary.measured;
  if (experiment.is_eager()) return;
  if (!experiment.has_passed()) {
    ++summary.not_passed[failure_or_code(*experiment.record)];
    return;
  }
  ++summary.passed;
  if (experiment.speedup) to.speedups.push_back(experiment.speedup->ratio);
  if (experiment.speedup && experiment.disturbance) ++summary.disturbed;
  if (experiment.memory_ratio) to.memory_ratios.push_back(*experiment.memory_ratio);
  if (experiment.compile_time) to.compile_times.push_back(*experiment.compile_time);
  if (experiment.compile_cpu_time) to.compile_cpu_times.push_back(*experiment.compile_cpu_time);
}

// The number of threads is separate, since it is ordered as a number.
constexpr const char* kGroupAxes[] = {"device", "test", "dtype", "shapes"};

using SummaryKey = std::tuple<ExperimentGroup, Language, Backend>;

SummaryKey summary_key(const ExperimentRecord& record) {
  return {group_of(record), record.variant.language, record.variant.backend};
}

// Counts how often each backend is the fastest.
void count_fastest(const std::vector<AgainstEager>& all,
                   std::map<SummaryKey, Collected>& collected) {
  std::map<std::pair<std::string, Benchmark>, std::vector<const ExperimentRecord*>> rivals;
  for (const AgainstEager& experiment : all) {
    rivals[{suite_of(*experiment.record), benchmark_of(experiment.record->variant)}].push_back(
        experiment.record);
  }
  for (const auto& [benchmark, records] : rivals) {
    std::vector<Measurement> measurements;
    for (const ExperimentRecord* record : records) measurements.push_back(measurement_of(*record));
    std::vector<const Measurement*> alternatives;
    for (const Measurement& measurement : measurements) alternatives.push_back(&measurement);
    const Measurement* fastest = find_fastest(alternatives);
    if (fastest == nullptr) continue;
    const auto place = static_cast<std::size_t>(fastest - measurements.data());
    ++collected[summary_key(*records[place])].summary.fastest;
  }
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

std::string not_passed_text(const ExperimentSummary& summary) {
  std::string text;
  for (const auto& [reason, count] : summary.not_passed) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, reason);
  }
  return text;
}

// The parts of a group's name.
std::vector<std::string> parts_of(const ExperimentGroup& group) {
  std::vector<std::string> parts{printable(group.suite)};
  parts.insert(parts.end(), group.values.begin(), group.values.end());
  parts.push_back(format_plural(static_cast<std::size_t>(group.threads), "thread"));
  return parts;
}

// Returns the parts of each group's name that are not common to all: "timm train amp".
std::vector<std::string> group_names(const std::vector<ExperimentSummary>& summaries) {
  std::vector<std::vector<std::string>> all;
  for (const ExperimentSummary& summary : summaries) all.push_back(parts_of(summary.group));
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

std::vector<DocumentCell> cells_of(const ExperimentSummary& summary) {
  const DocumentCell none{"-", Tone::kDim};
  const bool is_eager = summary.backend == Backend::kEager;
  const auto beside_eager = [&](const DocumentCell& cell) { return is_eager ? none : cell; };
  DocumentCell codes = text_cell(not_passed_text(summary));
  if (codes.text.empty()) codes.text = "-";
  codes.tone = codes.text == "-" ? Tone::kDim : Tone::kWarning;
  return {{.text = "", .value = std::to_string(summary.requested)},
          share_cell(summary.measured, summary.requested),
          beside_eager(share_cell(summary.passed, summary.requested)),
          beside_eager(times_cell(summary.speedup, summary.disturbed != 0 ? kDisturbed : "")),
          {.text = "", .value = std::to_string(summary.disturbed)},
          count_cell(summary.fastest),
          beside_eager(seconds_cell(summary.compile_time)),
          beside_eager(seconds_cell(summary.compile_cpu_time)),
          beside_eager(times_cell(summary.memory_ratio)),
          beside_eager(codes)};
}

std::optional<std::string> find_disturbance_of(const ExperimentRecord& record) {
  if (record.eager_times.empty()) return "not timed alternately with eager";
  return find_disturbance(timing_of(record));
}

}  // namespace

DocumentCell seconds_cell(const std::optional<double>& seconds) {
  if (!seconds) return {"-", Tone::kDim};
  return number_cell(*seconds, format_time(*seconds * 1e9));
}

bool AgainstEager::has_passed() const {
  return is_measured(*record) && (is_eager() || record->code == VerificationCode::kPass);
}

std::vector<AgainstEager> compare_with_eager(std::span<const ExperimentRecord> records) {
  std::map<std::string, const ExperimentRecord*> by_key;
  for (const ExperimentRecord& record : records) by_key[record.variant.key] = &record;
  std::vector<AgainstEager> all;
  for (const auto& [key, record] : by_key) {
    if (record->state == ExperimentState::kSkipped) continue;
    AgainstEager& experiment = all.emplace_back();
    experiment.record = record;
    const auto eager = by_key.find(make_eager(record->variant).key);
    if (eager != by_key.end() && is_measured(*eager->second)) experiment.eager = eager->second;
    // Eager may have been timed beside itself, which shows what chance does.
    const bool has_speedup = !experiment.is_eager() || !record->eager_times.empty();
    if (!has_speedup || !experiment.has_passed()) continue;
    if (!experiment.is_eager()) {
      experiment.compile_time = metric(*record, "compile_time");
      experiment.compile_cpu_time = metric(*record, "compile_cpu_time");
    }
    const ExperimentRecord* reference = experiment.eager;
    const Timing of_eager = reference == nullptr ? Timing{} : timing_of(*reference);
    experiment.speedup = speedup_over(of_eager, timing_of(*record));
    experiment.disturbance = find_disturbance_of(*record);
    if (reference == nullptr) continue;
    experiment.memory_ratio = times_better(peak_of(*experiment.eager), peak_of(*record));
  }
  return all;
}

std::string suite_of(const ExperimentRecord& record) {
  return fs::path(record.variant.where.file).stem().string();
}

ExperimentGroup group_of(const ExperimentRecord& record) {
  const Variant& variant = record.variant;
  ExperimentGroup group{suite_of(record), {}, variant.threads};
  for (const char* axis : kGroupAxes) group.values.push_back(find_axis_value(axis, variant));
  return group;
}

std::vector<ExperimentSummary> summarize_experiments(const std::vector<ExperimentRecord>& records) {
  const std::vector<AgainstEager> all = compare_with_eager(records);
  std::map<SummaryKey, Collected> collected;
  for (const AgainstEager& experiment : all) {
    Collected& to = collected[summary_key(*experiment.record)];
    ExperimentSummary& summary = to.summary;
    std::tie(summary.group, summary.language, summary.backend) = summary_key(*experiment.record);
    add(experiment, to);
  }
  count_fastest(all, collected);
  std::vector<ExperimentSummary> summaries;
  for (auto& [where, item] : collected) {
    item.summary.speedup = geometric_mean(item.speedups);
    item.summary.memory_ratio = geometric_mean(item.memory_ratios);
    item.summary.compile_time = mean(item.compile_times);
    item.summary.compile_cpu_time = mean(item.compile_cpu_times);
    summaries.push_back(std::move(item.summary));
  }
  return summaries;
}

DocumentTable experiment_table(const std::vector<ExperimentSummary>& summaries) {
  DocumentTable table{.columns = {{.heading = "", .name = "backend", .align = Align::kLeft},
                                  {.heading = "", .name = "requested", .is_hidden = true},
                                  {"measured", "measured"},
                                  {"passed", "passed"},
                                  {"speed-up", "speedup"},
                                  {.heading = "", .name = "disturbed", .is_hidden = true},
                                  {"fastest", "fastest"},
                                  {"compile time", "compile_time"},
                                  {"compile CPU", "compile_cpu"},
                                  {"memory saved", "memory_saved"},
                                  {"not passed", "not_passed"}},
                      .too_wide = TooWide::kStacked,
                      .stacked_title = "by backend:"};
  const std::vector<std::string> names = group_names(summaries);
  for (std::size_t i = 0; i < summaries.size(); ++i) {
    const ExperimentSummary& summary = summaries[i];
    const std::string backend =
        format_column_name(summary.language, summary.backend, Autograd::kForward);
    DocumentRow row{.cells = cells_of(summary), .group = names[i], .name = backend};
    const std::string full = names[i].empty() ? backend : names[i] + " " + backend;
    row.cells.insert(row.cells.begin(), text_cell(full));
    table.rows.push_back(std::move(row));
  }
  return table;
}

double timed_seconds(std::span<const ExperimentRecord> records) {
  double sum = 0;
  for (const ExperimentRecord& record : records) {
    for (double seconds : record.total_times) sum += seconds;
  }
  return sum;
}

std::string experiment_line(const std::vector<ExperimentRecord>& records) {
  std::map<ExperimentState, std::size_t> states;
  for (const ExperimentRecord& record : records) ++states[record.state];
  std::string text =
      fmt::format("{}: {} measured", format_plural(records.size(), "experiment"),
                  format_count(static_cast<double>(states[ExperimentState::kMeasured])));
  if (auto failed = states[ExperimentState::kFailed]) text += fmt::format(", {} failed", failed);
  if (auto skipped = states[ExperimentState::kSkipped])
    text += fmt::format(", {} skipped", skipped);
  return text;
}

Document experiment_document(const std::vector<ExperimentRecord>& records, bool shows_each) {
  Document document;
  if (shows_each) document.tables.push_back(each_experiment_table(records));
  document.tables.push_back(experiment_table(summarize_experiments(records)));
  add_records(document, document.tables.front());
  for (DocumentTable& table : find_findings(records)) document.tables.push_back(std::move(table));
  document.notes = {{.kind = DocumentNote::Kind::kConclusion, .text = experiment_line(records)}};
  return document;
}

}  // namespace instr
