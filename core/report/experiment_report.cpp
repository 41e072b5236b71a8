#include "core/report/experiment_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "core/base/format.h"
#include "core/definitions/metrics.h"
#include "core/definitions/variant.h"
#include "core/report/backend_summary.h"
#include "core/report/report_tables.h"

namespace instr {

namespace {

using Facts = std::vector<std::pair<std::string, std::string>>;

// Keeps one record of each key.
std::vector<Measurement> newest_records(const std::vector<std::vector<Measurement>>& files) {
  std::map<SummaryGroup, std::size_t> newest;  // the last file with that group
  for (std::size_t file = 0; file < files.size(); ++file) {
    for (const Measurement& record : files[file]) newest[group_of(record)] = file;
  }
  std::map<std::string, const Measurement*> by_key;
  for (std::size_t file = 0; file < files.size(); ++file) {
    for (const Measurement& record : files[file]) {
      if (newest[group_of(record)] == file) by_key[record.variant.key] = &record;
    }
  }
  std::vector<Measurement> records;
  for (const auto& [key, record] : by_key) records.push_back(*record);
  return records;
}

// "1.49 ms; 10 runs, 1.47 ms to 1.61 ms"
std::string describe_times(const std::vector<double>& times) {
  const auto [min, max] = std::minmax_element(times.begin(), times.end());
  return fmt::format("{}; {}, {} to {}", format_time(median(times)),
                     format_plural(times.size(), "run"), format_time(*min), format_time(*max));
}

void add_metrics(const Measurement& record, Facts& facts) {
  const auto* counted = std::get_if<Counted>(&record.outcome);
  if (counted == nullptr) return;
  for (const auto& [name, value] : counted->metrics) {
    const Metric* known = find_metric(name);
    if (known == nullptr || name == kWall || name == kRelativeWall) continue;
    facts.emplace_back(known->heading, format_metric(name, value));
  }
  for (const auto& [name, heading] : {std::pair{kWarmCompileTime, "compile time, warm"},
                                      {kWarmCompileCpu, "CPU time to compile, warm"}}) {
    const auto time = find_metric_of(record, name);
    if (time) facts.emplace_back(heading, format_time(*time));
  }
}

Facts find_facts(const Measurement& record, const AgainstEager& compared) {
  Facts facts;
  const auto add = [&facts](const char* name, const std::string& text) {
    if (!text.empty()) facts.emplace_back(name, printable(text, /*lines=*/true));
  };
  const bool is_skipped = state_of(record) == MeasuredState::kSkipped;
  add(is_skipped ? "skipped" : "failed", reason_of(record));
  add("verification", record.verification ? record.verification->reason : "");
  add("not to be trusted", compared.disturbance.value_or(""));
  if (const Timing* timing = find_timing(record)) {
    add("time of an iteration", describe_times(timing->of(kWall)));
    add("iterations of a run", format_count(static_cast<double>(timing->iterations)));
    if (!timing->eager.empty()) add("eager beside it", describe_times(timing->eager));
  }
  add_metrics(record, facts);
  add(is_on_cuda(record.variant) ? "GPU" : "CPU", record.depends_on.get(kDeviceModel));
  add("LibTorch", record.depends_on.get("libtorch_version"));
  return facts;
}

DocumentTable notes_table(const std::string& title, const std::vector<CompilerNote>& notes) {
  DocumentTable table{
      .title = title,
      .columns = {{"place", "place", Align::kLeft}, {"count", "count"}, {"reason", "reason"}}};
  for (const CompilerNote& note : notes) {
    table.rows.push_back(
        {.cells = {text_cell(note.place), count_cell(note.count), text_cell(note.reason)}});
  }
  return table;
}

DocumentTable unlowered_table(const CompilerReport& compiler) {
  DocumentTable table{.title = "operators left to LibTorch",
                      .columns = {{"operator", "operator", Align::kLeft}, {"count", "count"}}};
  for (const auto& [name, count] : compiler.unlowered) {
    table.rows.push_back({.cells = {text_cell(name), count_cell(count)}});
  }
  return table;
}

DocumentTable operators_table(const std::vector<OperatorTime>& operators) {
  DocumentTable table{.title = "operators with the most time",
                      .columns = {{"operator", "operator", Align::kLeft},
                                  {"on the", "place"},
                                  {"calls", "calls"},
                                  {"self time", "self"},
                                  {"with its calls", "total"}}};
  const auto time_cell = [](std::uint64_t nanoseconds) {
    const auto time = static_cast<double>(nanoseconds);
    return number_cell(time, format_time(time));
  };
  for (const OperatorTime& one : operators) {
    table.rows.push_back(
        {.cells = {text_cell(one.name), text_cell(one.is_on_device ? "device" : "CPU"),
                   count_cell(one.calls), time_cell(one.self), time_cell(one.total)}});
  }
  return table;
}

std::vector<DocumentTable> find_lists(const Measurement& record) {
  std::vector<DocumentTable> lists;
  const auto* counted = std::get_if<Counted>(&record.outcome);
  if (counted == nullptr) return lists;
  if (counted->compiler) {
    lists.push_back(notes_table("graph breaks", counted->compiler->graph_breaks));
    lists.push_back(notes_table("functions compiled again", counted->compiler->recompilations));
    lists.push_back(unlowered_table(*counted->compiler));
  }
  lists.push_back(operators_table(counted->operators));
  std::erase_if(lists, [](const DocumentTable& table) { return table.rows.empty(); });
  return lists;
}

}  // namespace

bool has_experiments(const std::vector<Measurement>& measurements) {
  return std::ranges::any_of(measurements, [](const Measurement& measurement) {
    const Timing* timing = find_timing(measurement);
    return timing != nullptr && !timing->eager.empty();
  });
}

ReportExperiments report_experiments(const std::vector<std::vector<Measurement>>& files) {
  const std::vector<Measurement> records = newest_records(files);
  const std::vector<BackendSummary> summaries =
      summarize_backends(records, Grouping::kBySuiteAndAxes);
  std::map<std::tuple<SummaryGroup, Language, Backend>, std::size_t> rows;
  for (const BackendSummary& summary : summaries) {
    rows.emplace(std::tuple(summary.group, summary.language, summary.backend), rows.size());
  }
  std::map<const Measurement*, AgainstEager> against_eager;
  for (const AgainstEager& one : compare_with_eager(records)) against_eager[one.record] = one;
  ReportExperiments report{.conclusion = experiment_line(records),
                           .summary = experiment_table(summaries),
                           .findings = find_all_findings(records),
                           .each = each_experiment_table(records),
                           .list = {}};
  for (const Measurement& record : records) {
    const Variant& variant = record.variant;
    const auto row = rows.find({group_of(record), variant.language, variant.backend});
    const bool is_skipped = state_of(record) == MeasuredState::kSkipped;
    const VariantName name = name_variant(variant);
    const AgainstEager& compared = against_eager[&record];
    report.list.push_back({.key = variant.key,
                           .model = name.full,
                           .backend = name.column,
                           .row = is_skipped ? std::nullopt : std::optional(row->second),
                           .speedup = is_candidate(variant) ? compared.speedup : std::nullopt,
                           .facts = find_facts(record, compared),
                           .lists = find_lists(record)});
  }
  return report;
}

}  // namespace instr
