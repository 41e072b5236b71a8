#include "core/report/history_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/format.h"
#include "core/base/read_file.h"
#include "core/base/text.h"
#include "core/compare/compare.h"
#include "core/definitions/variant.h"
#include "core/history/profiles.h"
#include "core/history/timeline.h"
#include "core/report/comparison_report.h"
#include "core/report/formats.h"
#include "core/report/run_table.h"
#include "core/results/results_file.h"

namespace instr {

namespace {

constexpr std::size_t kMaxSubjectWidth = 50;

DocumentCell value_cell(const std::string& metric, const std::optional<double>& value) {
  if (!value) return {};
  return number_cell(*value, format_metric(metric, *value));
}

DocumentCell commit_cell(const Commit& commit) {
  return text_cell(commit.hash, printable(short_hash(commit.hash)));
}

// "220df7068917", or "220df7068917 or 3 before" if those were not measured.
std::string commit_text(const RecordedStep& step) {
  const auto others = step.count_other_candidates();
  const std::string hash = printable(short_hash(step.commit.hash));
  return others == 0 ? hash : fmt::format("{} or {} before", hash, others);
}

DocumentCell measured_before_cell(const RecordedStep& step) {
  return text_cell(step.measured_before ? step.measured_before->hash : "");
}

DocumentCell date_cell(const Commit& commit) { return text_cell(format_date(commit.authored)); }

DocumentCell subject_cell(const Commit& commit) {
  return text_cell(commit.subject, shorten_end(printable(commit.subject), kMaxSubjectWidth));
}

// Growth within its limit is no alarm.
Tone tone_of(const MetricChange& change) {
  if (change.verdict == Verdict::kFails) return Tone::kBad;
  if (change.verdict == Verdict::kWarns) return Tone::kWarning;
  return *change.change() < 0 ? Tone::kGood : Tone::kPlain;
}

DocumentCell change_cell(const MetricChange& change) {
  if (!change.before) return {};
  return number_cell(*change.change(), format_change(*change.change()), tone_of(change));
}

DocumentCell percent_cell(const MetricChange& change) {
  if (!change.before) return {};
  const double relative = *change.relative();
  return number_cell(100 * relative, format_relative(relative));
}

DocumentCell chance_cell(const MetricChange& change) {
  if (!change.speedup) return {};
  const double p = change.speedup->p;
  return {.text = fmt::format("{:.2g}", p), .value = to_line(p)};
}

DocumentCell verdict_cell(const MetricChange& change) {
  return text_cell(change.before ? to_string(change.verdict) : "");
}

// A number that people do not see.
DocumentCell id_cell(std::int64_t id) { return {.text = "", .value = std::to_string(id)}; }

DocumentColumn left(const char* name, const char* heading) {
  return {.heading = heading, .name = name, .align = Align::kLeft};
}

DocumentColumn spare(const char* name, const char* heading) {
  DocumentColumn column = left(name, heading);
  column.is_spare = true;
  return column;
}

DocumentColumn right(const char* name, const char* heading) {
  return {.heading = heading, .name = name};
}

DocumentColumn hidden(const char* name) { return {.heading = "", .name = name, .is_hidden = true}; }

DocumentRow make_row(const RecordedStep& step) {
  const HistorySeries& series = step.series;
  const MetricChange& change = step.change;
  return {.cells = {text_cell(series.key), text_cell(series.metric),
                    value_cell(series.metric, change.before),
                    value_cell(series.metric, change.after), change_cell(change),
                    percent_cell(change), chance_cell(change),
                    text_cell(step.commit.hash, commit_text(step)), date_cell(step.commit),
                    text_cell(series.branch), subject_cell(step.commit), id_cell(series.class_id),
                    measured_before_cell(step), verdict_cell(change)}};
}

}  // namespace

DocumentTable series_table(const std::vector<SeriesSummary>& series) {
  DocumentTable table{.columns = {left("key", "benchmark"), left("metric", "metric"),
                                  right("measured", "measured"), right("steps", "steps"),
                                  right("value", "value"), left("commit", "at commit"),
                                  spare("date", "of"), spare("branch", "branch"), hidden("class")}};
  for (const SeriesSummary& summary : series) {
    table.rows.push_back(
        {.cells = {text_cell(summary.series.key), text_cell(summary.series.metric),
                   count_cell(summary.measured),
                   summary.series.is_exact ? count_cell(summary.steps) : DocumentCell{},
                   value_cell(summary.series.metric, summary.value), commit_cell(summary.last),
                   date_cell(summary.last), text_cell(summary.series.branch),
                   id_cell(summary.series.class_id)}});
  }
  return table;
}

Expected<DocumentTable> steps_table(const SqlDatabase& database,
                                    const std::vector<RecordedStep>& steps,
                                    const StepsShowing& showing) {
  return sql_stage([&] {
    const bool is_any_sampled =
        std::any_of(steps.begin(), steps.end(),
                    [](const RecordedStep& step) { return step.change.speedup.has_value(); });
    DocumentTable table{
        .columns = {left("key", "benchmark"), left("metric", "metric"), right("before", "before"),
                    right("after", "after"), right("change", "change"), right("percent", ""),
                    is_any_sampled ? right("p", "p") : hidden("p"), left("commit", "commit"),
                    spare("date", "of"), spare("branch", "branch"), spare("subject", "subject"),
                    hidden("class"), hidden("measured_before"), hidden("verdict")}};
    StepFunctions functions(database);
    std::size_t shown = 0;
    for (const RecordedStep& step : steps) {
      DocumentRow row = make_row(step);
      const auto attribution = showing.with_functions ? functions.attribute(step) : std::nullopt;
      if (attribution) row.more = "\"attribution\":" + to_line(attribution_json(*attribution));
      if (attribution && ++shown <= showing.max_functions) {
        row.lines = functions_text(*attribution, showing.width);
      }
      table.rows.push_back(std::move(row));
    }
    return table;
  });
}

DocumentTable points_table() {
  return {.columns = {left("key", "benchmark"), left("metric", "metric"), left("branch", "branch"),
                      hidden("class"), left("commit", "commit"), hidden("position"),
                      left("date", "of"), right("value", "value"), hidden("repetitions")}};
}

DocumentTable points_table(const HistoryPoint& point) {
  DocumentTable table = points_table();
  const auto repetitions = parse_json(point.repetitions);
  table.rows.push_back(
      {.cells = {text_cell(point.series.key),
                 text_cell(point.series.metric),
                 text_cell(point.series.branch),
                 id_cell(point.series.class_id),
                 commit_cell(point.commit),
                 id_cell(point.commit.position),
                 date_cell(point.commit),
                 value_cell(point.series.metric, point.value),
                 {.text = "", .value = repetitions ? to_line(*repetitions) : ""}}});
  return table;
}

std::vector<std::string> break_lines(const std::vector<SeriesBreak>& breaks) {
  std::vector<std::string> lines;
  for (const SeriesBreak& series_break : breaks) {
    lines.push_back(
        fmt::format("{}, at {} ({}): measured differently from here, so {} other series begin{}:",
                    printable(series_break.branch), short_hash(series_break.commit.hash),
                    format_date(series_break.commit.authored), series_break.series,
                    series_break.series == 1 ? "s" : ""));
    for (const std::string& line :
         list_differences(series_break.differences, FieldClass::kMustMatch)) {
      lines.push_back("  " + line);
    }
  }
  return lines;
}

namespace {

constexpr std::size_t kMaxSteps = 10;            // steps at a commit for which functions are listed
constexpr std::size_t kMaxSubjectColumns = 100;  // columns
constexpr std::size_t kMaxKeyColumns = 160;
constexpr std::size_t kMaxNamed = 5;  // benchmarks in a command

using RecordedSteps = std::vector<RecordedStep>;

// "+12.3% instructions in `a/eager/forward/t1/cpu`"
std::string change_text(const RecordedStep& step) {
  return fmt::format("{} {} in {}",
                     *step.change.before == 0 ? format_change(*step.change.after)
                                              : format_relative(*step.change.relative()),
                     printable(step.series.metric), printable(step.series.key));
}

std::vector<std::string> collect_keys(const RecordedSteps& steps) {
  std::vector<std::string> keys;
  for (const RecordedStep& step : steps) {
    if (std::find(keys.begin(), keys.end(), step.series.key) == keys.end()) {
      keys.push_back(step.series.key);
    }
  }
  return keys;
}

// The steps with the same candidates: a commit and, if some before it were not measured, those.
std::vector<RecordedSteps> group_by_commit(const RecordedSteps& steps) {
  std::vector<RecordedSteps> groups;
  const auto candidates = [](const RecordedStep& step) {
    return std::pair(step.commit.hash, step.count_other_candidates());
  };
  for (const RecordedStep& step : steps) {
    const auto group = std::ranges::find_if(groups, [&](const RecordedSteps& known) {
      return candidates(known.front()) == candidates(step);
    });
    if (group == groups.end()) {
      groups.push_back({step});
    } else {
      group->push_back(step);
    }
  }
  return groups;
}

std::string format_title(const RecordedSteps& steps, const std::vector<RecordedSteps>& by_commit) {
  const auto weight = [](const RecordedStep& step) {
    return std::pair(step.series.metric == kInstructions, *step.change.after / *step.change.before);
  };
  const auto max = std::max_element(steps.begin(), steps.end(),
                                    [&weight](const RecordedStep& left, const RecordedStep& right) {
                                      return weight(left) < weight(right);
                                    });
  const std::size_t others = collect_keys(steps).size() - 1;
  const std::string more = others == 0 ? "" : fmt::format(" and {} more", others);
  const RecordedStep& first = by_commit.front().front();
  std::set<std::string> commits;
  for (const RecordedStep& step : steps) commits.insert(step.commit.hash);
  std::string rest;
  if (commits.size() > 1) {
    rest = " and " + format_plural(commits.size() - 1, "other commit");
  } else if (first.count_other_candidates() == 0) {
    rest = " (" + printable(first.commit.subject) + ")";
  }
  return change_text(*max) + more + ", since " + commit_text(first) + rest;
}

std::string table_markdown(const SqlDatabase& database, const RecordedSteps& steps) {
  auto table = steps_table(database, steps, {.with_functions = false});
  if (!table) throw SqlError{table.error()};
  // The issue names the commit already.
  for (DocumentColumn& column : table->columns) {
    const std::string& name = column.name;
    if (name == "commit" || name == "date" || name == "subject") column.is_hidden = true;
  }
  return render(ReportFormat::kMarkdown, {.tables = {std::move(*table)}});
}

std::string format_functions(const SqlDatabase& database, const RecordedSteps& steps) {
  StepFunctions functions(database);
  std::string text;
  std::size_t listed = 0;
  for (const RecordedStep& step : steps) {
    if (listed == kMaxSteps) break;
    const auto attribution = functions.attribute(step);
    if (!attribution) continue;
    text += fmt::format("\n{}: {}", comment_code(printable(step.series.key), kMaxKeyColumns),
                        places_markdown(*attribution));
    ++listed;
  }
  return text;
}

// Returns the options that select what the steps were measured with: their definitions, and the
// backends that a run does not measure otherwise.
std::vector<std::string> find_options(const SqlDatabase& database, const RecordedSteps& steps) {
  std::vector<std::string> options;
  const auto add = [&options](std::string option) {
    if (std::ranges::find(options, option) == options.end()) options.push_back(std::move(option));
  };
  RunsOfSeries runs(database);
  for (const RecordedStep& step : steps) {
    for (std::string& option : runs.find_definitions(step.series, step.commit_id)) {
      add(std::move(option));
    }
    const Backend backend = parse_key(step.series.key).backend;
    if (std::ranges::find(kUsualBackends, backend) == kUsualBackends.end()) {
      add(std::string("--backend=") + facts_of(backend).name);
    }
  }
  return options;
}

// The commands as indented code, which no text inside can end.
std::string format_commands(const SqlDatabase& database, const RecordedSteps& steps,
                            const std::vector<std::string>& options) {
  const std::vector<std::string> keys = collect_keys(steps);
  std::string words;
  for (const std::string& option : options.empty() ? find_options(database, steps) : options) {
    words += " " + shell_word(printable(option));
  }
  std::string names;
  for (std::size_t i = 0; i < std::min(keys.size(), kMaxNamed); ++i) {
    words += " --filter=" + shell_word(printable(keys[i]));
    names += " " + shell_word(printable(keys[i]));
  }
  const RecordedStep& first = steps.front();
  const std::string hash = short_hash(first.commit.hash);
  return fmt::format(
      "\nTo see it:\n\n"
      "    git switch --detach {3} && instr_bench{1} --save=before\n"
      "    git switch --detach {0} && instr_bench{1} --save=after\n"
      "    instr_bench compare before after\n"
      "\nIf it is worth it, on the branch itself, with the reason, and commit the file that it "
      "writes:\n\n"
      "    instr_bench accept{2} --base=before --results=after --reason='...'\n",
      hash, words, names,
      first.count_other_candidates() == 0 ? hash + "^" : short_hash(first.measured_before->hash));
}

std::string format_section(const SqlDatabase& database, const RecordedSteps& steps,
                           const std::vector<std::string>& options) {
  const RecordedStep& first = steps.front();
  const Commit& commit = first.commit;
  std::string text =
      fmt::format("\n## {} ({}): {}\n\n", short_hash(commit.hash), format_date(commit.authored),
                  comment_code(printable(commit.subject), kMaxSubjectColumns));
  if (first.count_other_candidates() > 0) {
    text += fmt::format(
        "This commit or one before it, back to {}: those between were not measured.\n\n",
        short_hash(first.measured_before->hash));
  }
  return text + table_markdown(database, steps) + format_functions(database, steps) +
         format_commands(database, steps, options);
}

}  // namespace

Expected<std::string> growth_issue(const SqlDatabase& database, const RecordedSteps& steps,
                                   const std::vector<std::string>& options) {
  return sql_stage([&] {
    const auto by_commit = group_by_commit(steps);
    std::string text = format_title(steps, by_commit) + "\n";
    for (const RecordedSteps& at_commit : by_commit) {
      text += format_section(database, at_commit, options);
    }
    return text;
  });
}

}  // namespace instr
