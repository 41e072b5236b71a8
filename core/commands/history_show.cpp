#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "core/base/format.h"
#include "core/base/output.h"
#include "core/base/terminal.h"
#include "core/commands/history.h"
#include "core/definitions/select.h"
#include "core/history/read_runs.h"
#include "core/history/schema.h"
#include "core/report/formats.h"
#include "core/report/history_tables.h"

namespace instr {

namespace {

// The output of a word, read before any of it is printed, so that a pager does not lock the
// history.
struct Shown {
  std::string text;
  std::string notes = {};  // messages to people, on standard error
};

using ExpectedShown = tl::expected<Shown, Errors>;

std::string render_tables(std::vector<DocumentTable> tables, const HistoryOptions& options) {
  Document document;
  add_records(document, tables.back());
  document.tables = std::move(tables);
  return render(options.format, document, render_options(options.showing));
}

// Adds notes about breaks in the series.
Expected<Shown> with_notes(std::vector<DocumentTable> tables, const SqlDatabase& database,
                           const SeriesChoice& choice, const HistoryOptions& options) {
  TRY_ASSIGN(const auto breaks, read_breaks(database, choice));
  Shown shown{render_tables(std::move(tables), options)};
  for (const std::string& line : break_lines(breaks)) shown.notes += line + "\n";
  return shown;
}

StepsShowing showing_of(const HistoryOptions& options) {
  return {.with_functions = options.format != ReportFormat::kCsv,
          .width = render_options(options.showing).width};
}

// Reads the steps, which accepted changes let pass.
tl::expected<std::vector<RecordedStep>, Errors> read_judged(const SqlDatabase& database,
                                                            const HistoryOptions& options,
                                                            const SeriesChoice& choice,
                                                            const std::optional<Place>& since,
                                                            bool with_first) {
  TRY_ASSIGN(const auto accepted,
             read_accepted(options.accepted.value_or(default_accepted_file())));
  TRY_ASSIGN(auto steps, read_steps(database, choice, since, with_first, accepted));
  return steps;
}

ExpectedShown list(const SqlDatabase& database, const HistoryOptions& options) {
  SeriesChoice choice = options.choice();
  if (choice.metrics.empty()) choice.metrics = {kInstructions, kWall};
  TRY_ASSIGN(const auto series, read_series(database, choice));
  return with_notes({series_table(series)}, database, choice, options);
}

ExpectedShown show(const SqlDatabase& database, const HistoryOptions& options) {
  TRY_ASSIGN(const auto known, read_keys(database));
  TRY_ASSIGN(const auto keys, resolve_keys(options.operands, known));
  SeriesChoice choice = options.choice();
  choice.key = [&keys](const std::string& key) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  };
  TRY_ASSIGN(const auto series, read_series(database, choice));
  TRY_ASSIGN(const auto steps,
             read_judged(database, options, choice, std::nullopt, /*with_first=*/true));
  TRY_ASSIGN(auto table, steps_table(database, steps, showing_of(options)));
  std::vector<DocumentTable> tables;
  if (options.format == ReportFormat::kTable) tables.push_back(series_table(series));
  tables.push_back(std::move(table));
  return with_notes(std::move(tables), database, choice, options);
}

ExpectedShown steps(const SqlDatabase& database, const HistoryOptions& options) {
  TRY_ASSIGN(const auto since, options.place_since());
  const SeriesChoice choice = options.choice();
  TRY_ASSIGN(const auto steps, read_judged(database, options, choice, since, /*with_first=*/false));
  TRY_ASSIGN(auto table, steps_table(database, steps, showing_of(options)));
  return with_notes({std::move(table)}, database, choice, options);
}

ExpectedStatus print(const HistoryOptions& options,
                     ExpectedShown (*read)(const SqlDatabase&, const HistoryOptions&)) {
  // The history is closed before anything is printed.
  const auto open_and_read = [&]() -> ExpectedShown {
    TRY_ASSIGN(const auto database, open_history(options.recording.file(), SqlAccess::kRead));
    return read(database, options);
  };
  TRY_ASSIGN(const auto shown, open_and_read());
  print_output(shown.text);
  if (!shown.notes.empty()) print_message(shown.notes);
  return kGood;
}

// An error if no series has a value to judge: one after `since` and one before it.
Expected<void> check_judged(const SqlDatabase& database, const HistoryOptions& options,
                            const std::optional<Place>& since) {
  TRY_ASSIGN(const auto series, read_series(database, options.choice()));
  const bool is_any = std::ranges::any_of(series, [&since](const SeriesSummary& summary) {
    return summary.measured > 1 && (!since || summary.last.place() > *since);
  });
  if (is_any) return {};
  const std::string after = options.since ? " after " + printable(*options.since) : "";
  return fail_at({options.recording.file().string()},
                 fmt::format("nothing was judged: none of {} series was measured again{}",
                             series.size(), after),
                 "record another commit, or select others (--branch, --filter)");
}

}  // namespace

SeriesChoice HistoryOptions::choice() const {
  return {make_key_selector(selection), metrics, recording.branch};
}

Expected<std::optional<Place>> HistoryOptions::place_since() const {
  if (!since) return std::nullopt;
  TRY_ASSIGN(const auto commit, Repository().find(*since));
  return commit.place();
}

ExpectedStatus history_list(const HistoryOptions& options) { return print(options, list); }

ExpectedStatus history_show(const HistoryOptions& options) { return print(options, show); }

ExpectedStatus history_steps(const HistoryOptions& options) { return print(options, steps); }

// Writes lines of CSV and JSON as the points are read: a history may have millions.
ExpectedStatus history_export(const HistoryOptions& options) {
  const auto format = options.format == ReportFormat::kTable ? ReportFormat::kCsv : options.format;
  const bool is_streamed = format == ReportFormat::kCsv || format == ReportFormat::kJsonl;
  TRY_ASSIGN(auto database, open_history(options.recording.file(), SqlAccess::kRead));
  DocumentTable all = points_table();
  Document names;
  add_records(names, all);
  if (is_streamed) print_output(render(format, names));
  TRY(for_each_point(database, options.choice(), [&](const HistoryPoint& point) {
    DocumentTable table = points_table(point);
    if (!is_streamed) {
      all.rows.push_back(std::move(table.rows.front()));
      return true;
    }
    Document document;
    add_records(document, table);
    document.fields.clear();
    return print_output(render(format, document));
  }));
  if (!is_streamed) print_output(render_tables({std::move(all)}, options));
  return kGood;
}

ExpectedStatus history_issue(const HistoryOptions& options) {
  TRY_ASSIGN(auto database, open_history(options.recording.file(), SqlAccess::kRead));
  TRY_ASSIGN(auto since, options.place_since());
  TRY_ASSIGN(auto steps,
             read_judged(database, options, options.choice(), since, /*with_first=*/false));
  std::erase_if(steps, [](const RecordedStep& step) { return !step.is_regression; });
  if (steps.empty()) {
    TRY(check_judged(database, options, since));
    print_message("nothing costs more, or it was accepted\n");
    return kGood;
  }
  TRY_ASSIGN(auto text, growth_issue(database, steps, options.rest));
  print_output(text);
  return kRegression;
}

}  // namespace instr
