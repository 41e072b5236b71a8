#include "core/report/experiment_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/base/format.h"
#include "core/values/backends.h"
#include "core/values/verification.h"

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
};

double metric(const ExperimentRecord& record, const char* name) {
  auto found = record.metrics.find(name);
  return found == record.metrics.end() ? 0 : found->second;
}

void add(const ExperimentRecord& record, const ExperimentRecord* eager, Collected& to) {
  if (record.state == ExperimentState::kSkipped) return;
  ExperimentSummary& summary = to.summary;
  bool is_measured = record.state == ExperimentState::kMeasured;
  ++summary.requested;
  if (is_measured) ++summary.measured;
  if (summary.backend == Runtime::kEager) return;
  if (!is_measured || record.code != VerificationCode::kPass) {
    ++summary.codes[record.code];
    return;
  }
  ++summary.passed;
  auto compile_time = record.metrics.find("compile_time");
  if (compile_time != record.metrics.end()) to.compile_times.push_back(compile_time->second);
  if (eager == nullptr || eager->state != ExperimentState::kMeasured) return;
  if (auto faster = times_better(median(eager->per_iter_times), median(record.per_iter_times))) {
    to.speedups.push_back(*faster);
  }
  const char* memory =
      record.variant.device == "cuda" ? "cuda_peak_memory_bytes" : "peak_memory_bytes";
  if (auto less = times_better(metric(*eager, memory), metric(record, memory))) {
    to.memory_ratios.push_back(*less);
  }
}

TableCell times_cell(const std::optional<double>& value) {
  return value ? TableCell{fmt::format("{:.2f}x", *value)} : TableCell{"-", Tone::kDim};
}

TableCell share_cell(std::size_t part, std::size_t whole) {
  double percent = whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  return {fmt::format("{} of {} ({:.0f}%)", part, whole, percent),
          part == whole ? Tone::kGood : Tone::kWarning};
}

std::string codes_text(const ExperimentSummary& summary) {
  std::string text;
  for (const auto& [code, count] : summary.codes) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, to_string(code));
  }
  return text;
}

}  // namespace

std::vector<ExperimentSummary> summarize_experiments(const std::vector<ExperimentRecord>& records) {
  std::map<std::string, const ExperimentRecord*> by_key;
  for (const ExperimentRecord& record : records) by_key[record.variant.key] = &record;
  std::map<std::pair<std::string, Runtime>, Collected> collected;
  for (const auto& [key, record] : by_key) {
    const Variant& variant = record->variant;
    Collected& to = collected[{variant.device, variant.runtime}];
    to.summary.accelerator = variant.device;
    to.summary.backend = variant.runtime;
    auto eager = by_key.find(eager_of(variant).key);
    add(*record, eager == by_key.end() ? nullptr : eager->second, to);
  }
  std::vector<ExperimentSummary> summaries;
  for (auto& [where, one] : collected) {
    one.summary.speedup = geometric_mean(one.speedups);
    one.summary.memory_ratio = geometric_mean(one.memory_ratios);
    one.summary.compile_time = mean(one.compile_times);
    if (one.summary.requested != 0) summaries.push_back(std::move(one.summary));
  }
  return summaries;
}

Grid experiment_grid(const std::vector<ExperimentSummary>& summaries) {
  Grid grid;
  grid.columns = {{"measured"},     {"passed"},       {"speed-up"},
                  {"compile time"}, {"memory saved"}, {"not passed"}};
  bool is_one = std::all_of(summaries.begin(), summaries.end(), [&](const auto& one) {
    return one.accelerator == summaries.front().accelerator;
  });
  for (const ExperimentSummary& one : summaries) {
    std::string name = facts_of(one.backend).title;
    if (!is_one) name += " " + one.accelerator;
    GridRow row{name, name, {share_cell(one.measured, one.requested)}};
    if (one.backend == Runtime::kEager) {
      row.cells.insert(row.cells.end(), 5, TableCell{"-", Tone::kDim});
    } else {
      row.cells.push_back(share_cell(one.passed, one.requested));
      row.cells.push_back(times_cell(one.speedup));
      row.cells.push_back(one.compile_time ? TableCell{format_time(*one.compile_time * 1e9)}
                                           : TableCell{"-", Tone::kDim});
      row.cells.push_back(times_cell(one.memory_ratio));
      std::string codes = codes_text(one);
      row.cells.push_back(codes.empty() ? TableCell{"-", Tone::kDim}
                                        : TableCell{codes, Tone::kWarning});
    }
    grid.groups.push_back({name, {row}});
  }
  return grid;
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

}  // namespace instr
