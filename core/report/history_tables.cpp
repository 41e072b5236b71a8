#include "core/report/history_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "core/base/format.h"
#include "core/base/json_line.h"
#include "core/base/shell.h"
#include "core/compare/compare.h"
#include "core/history/profiles.h"
#include "core/history/read.h"
#include "core/report/comparison_report.h"
#include "core/report/comparison_text.h"
#include "core/report/formats.h"
#include "core/report/report_tables.h"
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

DocumentCell date_cell(const Commit& commit) { return text_cell(format_date(commit.authored)); }

DocumentCell subject_cell(const Commit& commit) {
  return text_cell(commit.subject, shorten_end(printable(commit.subject), kMaxSubjectWidth));
}

DocumentCell change_cell(const RecordedStep& step) {
  if (!step.before) return {};
  const double change = step.after - *step.before;
  return number_cell(change, format_change(change), change > 0 ? Tone::kBad : Tone::kGood);
}

DocumentCell percent_cell(const RecordedStep& step) {
  if (!step.before) return {};
  const double change = step.after - *step.before;
  const double relative = change / std::fabs(*step.before);
  return number_cell(100 * relative, format_relative(relative));
}

DocumentCell chance_cell(const RecordedStep& step) {
  if (!step.p) return {};
  return {.text = fmt::format("{:.2g}", *step.p), .value = to_line(*step.p)};
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
  return {.cells = {text_cell(series.key), text_cell(series.metric),
                    value_cell(series.metric, step.before), value_cell(series.metric, step.after),
                    change_cell(step), percent_cell(step), chance_cell(step),
                    commit_cell(step.commit), date_cell(step.commit), text_cell(series.branch),
                    subject_cell(step.commit), id_cell(series.class_id)}};
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
    const bool is_any_sampled = std::any_of(
        steps.begin(), steps.end(), [](const RecordedStep& step) { return step.p.has_value(); });
    DocumentTable table{
        .columns = {left("key", "benchmark"), left("metric", "metric"), right("before", "before"),
                    right("after", "after"), right("change", "change"), right("percent", ""),
                    is_any_sampled ? right("p", "p") : hidden("p"), left("commit", "commit"),
                    spare("date", "of"), spare("branch", "branch"), spare("subject", "subject"),
                    hidden("class")}};
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

constexpr std::size_t kMaxSteps = 10;            // at a commit whose functions are listed
constexpr std::size_t kMaxSubjectColumns = 100;  // columns
constexpr std::size_t kMaxNamed = 5;             // benchmarks in a command

using RecordedSteps = std::vector<RecordedStep>;

// "+12.3% instructions in `a/eager/forward/t1/cpu`"
std::string change_text(const RecordedStep& step) {
  return fmt::format("{} {} in {}",
                     *step.before == 0 ? format_change(step.after)
                                       : format_relative(step.after / *step.before - 1),
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

std::string format_title(const RecordedSteps& steps, const std::vector<RecordedSteps>& by_commit) {
  const auto weight = [](const RecordedStep& step) {
    return std::pair(step.series.metric == kInstructions, step.after / *step.before);
  };
  const auto max = std::max_element(steps.begin(), steps.end(),
                                    [&weight](const RecordedStep& left, const RecordedStep& right) {
                                      return weight(left) < weight(right);
                                    });
  const std::size_t others = collect_keys(steps).size() - 1;
  const std::string more = others == 0 ? "" : fmt::format(" and {} more", others);
  const Commit& commit = by_commit.front().front().commit;
  const std::string rest = by_commit.size() == 1
                               ? " (" + printable(commit.subject) + ")"
                               : " and " + format_plural(by_commit.size() - 1, "other commit");
  return change_text(*max) + more + ", since " + short_hash(commit.hash) + rest;
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
    text += attribution_markdown({step.series.key}, *attribution);
    ++listed;
  }
  return text;
}

// The commands as indented code, which no text inside can end.
std::string format_commands(const RecordedSteps& steps, const std::vector<std::string>& options) {
  const std::vector<std::string> keys = collect_keys(steps);
  std::string words;
  for (const std::string& option : options) words += " " + shell_word(printable(option));
  std::string names;
  for (std::size_t i = 0; i < std::min(keys.size(), kMaxNamed); ++i) {
    words += " --filter=" + shell_word(printable(keys[i]));
    names += " " + shell_word(printable(keys[i]));
  }
  const std::string hash = short_hash(steps.front().commit.hash);
  return fmt::format(
      "\nTo see it:\n\n"
      "    git switch --detach {0}^ && instr_bench{1} --save=before\n"
      "    git switch --detach {0} && instr_bench{1} --save=after\n"
      "    instr_bench compare before after\n"
      "\nIf it is worth it, on the branch itself, with the reason, and commit the file that it "
      "writes:\n\n"
      "    instr_bench accept{2} --base=before --results=after --reason='...'\n",
      hash, words, names);
}

std::string format_section(const SqlDatabase& database, const RecordedSteps& steps,
                           const std::vector<std::string>& options, const std::string& before) {
  const Commit& commit = steps.front().commit;
  std::string text =
      fmt::format("\n## {} ({}): {}\n\n", short_hash(commit.hash), format_date(commit.authored),
                  markdown_code(printable(commit.subject), kMaxSubjectColumns));
  if (!before.empty()) {
    text += fmt::format(
        "This commit or one before it, back to {}: those between were not measured.\n\n",
        short_hash(before));
  }
  return text + table_markdown(database, steps) + format_functions(database, steps) +
         format_commands(steps, options);
}

}  // namespace

Expected<RecordedSteps> unaccepted_growth(const SqlDatabase& database, const SeriesChoice& choice,
                                          const std::optional<Place>& since,
                                          const Acceptances& accepted) {
  auto steps = read_steps(database, choice, since, /*with_first=*/false);
  if (!steps) return steps;
  std::map<std::int64_t, double> now;
  for (const RecordedStep& step : *steps) now[step.series.id] = step.after;
  const auto limits = default_limits().hard;
  std::erase_if(*steps, [&](const RecordedStep& step) {
    const auto limit = limits.find(step.series.metric);
    if (!step.series.is_exact || limit == limits.end()) return true;
    const double still = std::min(step.after, now.at(step.series.id));
    return !is_beyond(still - *step.before, limit->second, *step.before) ||
           find_accepted(accepted, step.series.key, step.series.metric, *step.before, step.after);
  });
  return steps;
}

Expected<std::string> growth_issue(const SqlDatabase& database, const RecordedSteps& steps,
                                   const std::vector<std::string>& options) {
  std::vector<RecordedSteps> by_commit;
  for (const RecordedStep& step : steps) {
    const bool is_next =
        by_commit.empty() || by_commit.back().front().commit.hash != step.commit.hash;
    if (is_next) by_commit.emplace_back();
    by_commit.back().push_back(step);
  }
  return sql_stage([&]() -> Expected<std::string> {
    std::string text = format_title(steps, by_commit) + "\n";
    std::map<std::string, std::vector<OpenStep>> open_on;  // by branch
    for (const RecordedSteps& at_commit : by_commit) {
      const std::string& branch = at_commit.front().series.branch;
      if (!open_on.contains(branch)) {
        TRY_ASSIGN(open_on[branch], read_open_steps(database, branch));
      }
      const std::vector<OpenStep>& open = open_on[branch];
      const auto gap = std::find_if(open.begin(), open.end(), [&at_commit](const OpenStep& step) {
        return step.after == at_commit.front().commit.hash;
      });
      text += format_section(database, at_commit, options, gap == open.end() ? "" : gap->before);
    }
    return text;
  });
}

}  // namespace instr
