#include "core/report/experiment_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <limits>
#include <map>
#include <tuple>

#include "core/base/format.h"
#include "core/definitions/metrics.h"
#include "core/definitions/variant.h"
#include "core/report/backend_summary.h"
#include "core/report/run_table.h"

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
  for (const auto& [name, heading] :
       {std::pair{kCoverageOperators, "operators in graphs"}, {kCoverageTime, "time in graphs"}}) {
    const auto share = find_metric_of(record, name);
    if (share) facts.emplace_back(heading, percent_cell(share).text);
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

DocumentTable choices_table(const CompilerReport& compiler) {
  DocumentTable table{.title = "backends chosen by graph",
                      .columns = {{"graph", "graph"},
                                  {"chosen", "chosen", Align::kLeft},
                                  {"times", "times", Align::kLeft},
                                  {"not chosen, because", "failures", Align::kLeft}}};
  for (const GraphChoice& choice : compiler.choices) {
    std::vector<std::string> times;
    for (const auto& [name, time] : choice.times) {
      times.push_back(fmt::format("{} {}", name, format_time(time)));
    }
    std::vector<std::string> failures;
    for (const auto& [name, reason] : choice.failures) {
      failures.push_back(fmt::format("{}: {}", name, reason));
    }
    table.rows.push_back({.cells = {count_cell(table.rows.size() + 1), text_cell(choice.chosen),
                                    text_cell(fmt::format("{}", fmt::join(times, ", "))),
                                    text_cell(fmt::format("{}", fmt::join(failures, "; ")))}});
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
    lists.push_back(choices_table(*counted->compiler));
  }
  lists.push_back(operators_table(counted->operators));
  std::erase_if(lists, [](const DocumentTable& table) { return table.rows.empty(); });
  return lists;
}

constexpr std::size_t kMaxTextLength = 100;  // the maximum for a cell

const DocumentCell kNothing{"-", Tone::kDim};

// An experiment's name as in a table of one column.
std::string format_title(const Measurement& record) {
  const VariantName name = name_variant(record.variant);
  return name.full + ", " + name.column;
}

DocumentRow make_row(const Measurement& record, std::vector<DocumentCell> cells) {
  cells.insert(cells.begin(), text_cell(record.variant.key, format_title(record)));
  return {.cells = std::move(cells)};
}

// `name`: of the column of experiments.
DocumentTable table_of(const std::string& name, const std::vector<std::string>& headings) {
  DocumentTable table{.columns = {{.heading = "", .name = name, .align = Align::kLeft}},
                      .too_wide = TooWide::kStacked};
  for (const std::string& heading : headings) {
    std::string for_programs = heading;
    for (char& c : for_programs) {
      c = c == ' ' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    std::erase(for_programs, '-');
    table.columns.push_back({.heading = heading, .name = for_programs});
  }
  return table;
}

bool is_slower(const AgainstEager& experiment, const FlagLimits& limits) {
  const auto& speedup = experiment.speedup;
  return !experiment.is_eager() && speedup && speedup->ratio < limits.speedup &&
         !speedup->is_same();
}

DocumentCell speedup_cell(const AgainstEager& experiment, const FlagLimits& limits) {
  if (!experiment.speedup) return kNothing;
  // Eager has no speed-up over itself; for programs it shows what chance does.
  if (experiment.is_eager()) return number_cell(experiment.speedup->ratio, "-", Tone::kDim);
  const char* mark = experiment.disturbance ? kDisturbed : "";
  return number_cell(experiment.speedup->ratio, mark + to_string(*experiment.speedup),
                     is_slower(experiment, limits) ? Tone::kWarning : Tone::kPlain);
}

DocumentCell memory_cell(const AgainstEager& experiment) {
  if (!experiment.memory_ratio) return kNothing;
  return number_cell(*experiment.memory_ratio, fmt::format("{:.2f}x", *experiment.memory_ratio));
}

std::string failure_reason(const Measurement& record) {
  const bool is_wrong = state_of(record) != MeasuredState::kFailed && record.verification;
  const std::string reason = is_wrong ? record.verification->reason : reason_of(record);
  return shorten_end(printable(reason), kMaxTextLength);
}

std::map<std::string, std::uint64_t> unlowered_by(const Measurement& record) {
  const auto* counted = std::get_if<Counted>(&record.outcome);
  if (counted == nullptr || !counted->compiler) return {};
  return counted->compiler->unlowered;
}

// "aten::nonzero, aten::_unique2"
std::string names_of(const std::map<std::string, std::uint64_t>& counts) {
  std::vector<std::string> names;
  for (const auto& [name, count] : counts) names.push_back(name);
  return shorten_end(printable(fmt::format("{}", fmt::join(names, ", "))), kMaxTextLength);
}

// A kind of finding.
struct Kind {
  std::string title;
  std::vector<std::string> columns;
  // How bad it is, the worse the more; nothing: it is none.
  std::function<std::optional<double>(const AgainstEager&)> badness;
  std::function<std::vector<DocumentCell>(const AgainstEager&)> cells;
};

Kind kind_unlowered() {
  return {"operators that the compiler left to LibTorch",
          {"operators"},
          [](const AgainstEager& experiment) -> std::optional<double> {
            const auto unlowered = unlowered_by(*experiment.record);
            if (unlowered.empty()) return std::nullopt;
            return static_cast<double>(unlowered.size());
          },
          [](const AgainstEager& experiment) {
            return std::vector{DocumentCell{names_of(unlowered_by(*experiment.record))}};
          }};
}

std::size_t count_of(const AgainstEager& experiment, const char* metric) {
  return static_cast<std::size_t>(find_metric_of(*experiment.record, metric).value_or(0));
}

Kind kind_eager_graphs() {
  return {"graphs that the backend left to eager",
          {"left", "of all"},
          [](const AgainstEager& experiment) -> std::optional<double> {
            const std::size_t graphs = count_of(experiment, "eager_graphs");
            const bool is_intended = experiment.record->variant.backend == Backend::kDynamo;
            return graphs > 0 && !is_intended ? std::optional<double>(graphs) : std::nullopt;
          },
          [](const AgainstEager& experiment) {
            return std::vector{count_cell(count_of(experiment, "eager_graphs")),
                               count_cell(count_of(experiment, kGraphCount))};
          }};
}

// "layers.toml:12: call to print; a.py:3: ..."
std::string breaks_of(const Measurement& record) {
  const auto* counted = std::get_if<Counted>(&record.outcome);
  if (counted == nullptr || !counted->compiler) return "";
  std::vector<std::string> breaks;
  for (const CompilerNote& note : counted->compiler->graph_breaks) {
    breaks.push_back(note.place.empty() ? note.reason : note.place + ": " + note.reason);
  }
  return shorten_end(printable(fmt::format("{}", fmt::join(breaks, "; "))), kMaxTextLength);
}

Kind kind_uncovered() {
  return {"least in graphs of torch.compile()",
          {"operators", "time", kGraphCount, "graph breaks", "reasons"},
          [](const AgainstEager& experiment) -> std::optional<double> {
            const auto share = find_metric_of(*experiment.record, kCoverageOperators);
            return share && *share < 1 ? std::optional(1 - *share) : std::nullopt;
          },
          [](const AgainstEager& experiment) {
            const Measurement& record = *experiment.record;
            return std::vector{percent_cell(find_metric_of(record, kCoverageOperators)),
                               percent_cell(find_metric_of(record, kCoverageTime)),
                               count_cell(count_of(experiment, kGraphCount)),
                               count_cell(count_of(experiment, kGraphBreaks)),
                               DocumentCell{breaks_of(record)}};
          }};
}

Kind kind_disturbed(const FlagLimits& limits) {
  return {
      fmt::format("{} speed-ups that cannot be trusted", kDisturbed),
      {"speed-up", "reason"},
      [](const AgainstEager& experiment) -> std::optional<double> {
        const bool is_disturbed =
            !experiment.is_eager() && experiment.speedup && experiment.disturbance;
        return is_disturbed ? std::optional(0.0) : std::nullopt;
      },
      [limits](const AgainstEager& experiment) {
        return std::vector{speedup_cell(experiment, limits), DocumentCell{*experiment.disturbance}};
      }};
}

// The kinds that the limits of --flag-... define.
std::vector<Kind> flagged_kinds(const FlagLimits& limits) {
  return {{fmt::format("slower than {}x", limits.speedup),
           {"speed-up"},
           [limits](const AgainstEager& experiment) -> std::optional<double> {
             if (!is_slower(experiment, limits)) return std::nullopt;
             return 1 / experiment.speedup->ratio;
           },
           [limits](const AgainstEager& experiment) {
             return std::vector{speedup_cell(experiment, limits)};
           }},
          {fmt::format("compiled longer than {} s", limits.compile_time),
           {"compile time"},
           [limits](const AgainstEager& experiment) -> std::optional<double> {
             const auto& time = experiment.compile_time;
             return time.value_or(0) > limits.compile_time ? time : std::nullopt;
           },
           [](const AgainstEager& experiment) {
             return std::vector{seconds_cell(experiment.compile_time)};
           }},
          {fmt::format("more memory than 1/{} of eager's", limits.memory_ratio),
           {"memory saved"},
           [limits](const AgainstEager& experiment) -> std::optional<double> {
             const auto& ratio = experiment.memory_ratio;
             if (!ratio || *ratio >= limits.memory_ratio) return std::nullopt;
             return 1 / *ratio;
           },
           [](const AgainstEager& experiment) { return std::vector{memory_cell(experiment)}; }}};
}

Kind kind_failed() {
  return {"failed",
          {"code", "reason"},
          [](const AgainstEager& experiment) -> std::optional<double> {
            return has_failed(*experiment.record) ? std::optional(0.0) : std::nullopt;
          },
          [](const AgainstEager& experiment) {
            const VerificationCode code = code_of(*experiment.record);
            const bool has_code = !experiment.is_eager() && code != VerificationCode::kPass;
            return std::vector{has_code ? DocumentCell{to_string(code), Tone::kBad} : kNothing,
                               DocumentCell{failure_reason(*experiment.record)}};
          }};
}

std::vector<Kind> kinds(const FlagLimits& limits) {
  std::vector<Kind> all = flagged_kinds(limits);
  for (Kind& kind : std::vector{kind_unlowered(), kind_eager_graphs(), kind_uncovered(),
                                kind_disturbed(limits), kind_failed()}) {
    all.push_back(std::move(kind));
  }
  return all;
}

DocumentTable collect_findings(const Kind& kind, const std::vector<AgainstEager>& all,
                               std::size_t max) {
  std::vector<std::pair<double, const AgainstEager*>> bad;
  for (const AgainstEager& experiment : all) {
    if (auto badness = kind.badness(experiment)) bad.emplace_back(*badness, &experiment);
  }
  std::stable_sort(bad.begin(), bad.end(),
                   [](const auto& left, const auto& right) { return left.first > right.first; });
  DocumentTable table = table_of(kind.title, kind.columns);
  table.title = kind.title;
  for (std::size_t i = 0; i < std::min(bad.size(), max); ++i) {
    const AgainstEager& experiment = *bad[i].second;
    table.rows.push_back(make_row(*experiment.record, kind.cells(experiment)));
  }
  if (bad.size() > max) {
    table.rows.back().lines = fmt::format("and {} more\n", bad.size() - max);
  }
  return table;
}

// A row of each_experiment_table(). Programs also get the interval, the p-value and the
// disturbance.
DocumentRow row_of_each(const AgainstEager& experiment, const FlagLimits& limits) {
  const auto& known = experiment.speedup;
  const auto interval = known ? known->interval : std::nullopt;
  const auto hidden = [](const std::optional<double>& value) {
    return value ? number_cell(*value, "") : DocumentCell{};
  };
  DocumentCell code = text_cell(to_string(code_of(*experiment.record)));
  code.tone = experiment.has_passed() ? Tone::kGood : Tone::kWarning;
  return make_row(
      *experiment.record,
      {seconds_cell(seconds_of(*experiment.record, kWall)), speedup_cell(experiment, limits),
       hidden(interval ? std::optional(interval->first) : std::nullopt),
       hidden(interval ? std::optional(interval->second) : std::nullopt),
       hidden(known ? std::optional(known->p) : std::nullopt),
       text_cell(experiment.disturbance.value_or("")), seconds_cell(experiment.compile_time),
       seconds_cell(experiment.compile_cpu_time), memory_cell(experiment),
       experiment.is_eager() ? kNothing : code});
}

}  // namespace

bool has_experiments(const std::vector<Measurement>& measurements) {
  return std::ranges::any_of(measurements, [](const Measurement& measurement) {
    const Timing* timing = find_timing(measurement);
    return timing != nullptr && !timing->eager.empty();
  });
}

ReportExperiments report_experiments(const std::vector<std::vector<Measurement>>& files,
                                     const SummaryOptions& options) {
  const std::vector<Measurement> records = newest_records(files);
  const std::vector<BackendSummary> summaries =
      summarize_backends(records, Grouping::kBySuiteAndAxes);
  std::map<std::tuple<SummaryGroup, Language, Backend>, std::size_t> rows;
  for (const BackendSummary& summary : summaries) {
    rows.emplace(std::tuple(summary.group, summary.language, summary.backend), rows.size());
  }
  std::map<const Measurement*, AgainstEager> against_eager;
  for (const AgainstEager& one : compare_with_eager(records)) against_eager[one.record] = one;
  ReportExperiments report{
      .conclusion = experiment_line(records),
      .summary = experiment_table(summaries, options),
      .findings = find_findings(records, options.flags, std::numeric_limits<std::size_t>::max()),
      .each = each_experiment_table(records, options.flags),
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

std::vector<DocumentTable> find_findings(const std::vector<Measurement>& records,
                                         const FlagLimits& limits, std::size_t max) {
  const std::vector<AgainstEager> all = compare_with_eager(records);
  std::vector<DocumentTable> tables;
  for (const Kind& kind : kinds(limits)) {
    DocumentTable table = collect_findings(kind, all, max);
    if (!table.rows.empty()) tables.push_back(std::move(table));
  }
  return tables;
}

std::size_t count_flagged(const std::vector<Measurement>& records, const FlagLimits& limits) {
  const std::vector<Kind> kinds = flagged_kinds(limits);
  std::size_t count = 0;
  for (const AgainstEager& experiment : compare_with_eager(records)) {
    const auto is_bad = [&](const Kind& kind) { return kind.badness(experiment).has_value(); };
    if (std::ranges::any_of(kinds, is_bad)) ++count;
  }
  return count;
}

DocumentTable graph_break_table(const std::vector<Measurement>& records) {
  DocumentTable table = table_of("experiment", {"place", "count", "reason"});
  table.title = "graph breaks";
  table.columns.back().align = Align::kLeft;
  table.shortens_last = true;
  const auto add = [&table](const Measurement& record, const CompilerNote& note) {
    table.rows.push_back(
        make_row(record, {text_cell(note.place), count_cell(note.count), text_cell(note.reason)}));
  };
  for (const Measurement& record : records) {
    const double breaks = find_metric_of(record, kGraphBreaks).value_or(0);
    if (breaks == 0) continue;
    const auto& compiler = std::get<Counted>(record.outcome).compiler;
    if (!compiler || compiler->graph_breaks.empty()) {
      add(record, {"", "", static_cast<std::uint64_t>(breaks)});
      continue;
    }
    for (const CompilerNote& note : compiler->graph_breaks) add(record, note);
  }
  return table;
}

DocumentTable each_experiment_table(const std::vector<Measurement>& records,
                                    const FlagLimits& limits) {
  DocumentTable table = table_of(
      "experiment", {"time", "speed-up", "speed-up low", "speed-up high", "p", "disturbance",
                     "compile time", "compile CPU", "memory saved", "code"});
  for (DocumentColumn& column : table.columns) {
    column.is_hidden = column.name == "speedup_low" || column.name == "speedup_high" ||
                       column.name == "p" || column.name == "disturbance";
  }
  table.stacked_title = "by experiment:";
  for (const AgainstEager& experiment : compare_with_eager(records)) {
    table.rows.push_back(row_of_each(experiment, limits));
  }
  return table;
}

}  // namespace instr
