#include <unistd.h>

#include <algorithm>

#include "core/base/format.h"
#include "core/base/output.h"
#include "core/base/terminal.h"
#include "core/commands/history.h"
#include "core/definitions/select.h"
#include "core/history/read_runs.h"
#include "core/history/schema.h"
#include "core/report/history_tables.h"

namespace instr {

namespace {

// What a word shows, read before any of it is printed: who pages through it keeps nobody from
// adding to the history meanwhile.
struct Shown {
  std::string text;
  std::string notes = {};  // for people, beside it
};

std::string text_of(const Listing& listing, const HistoryOptions& options) {
  const Terminal terminal = inspect_terminal(STDOUT_FILENO, options.showing.color);
  return listing_text(listing, options.format,
                      static_cast<std::size_t>(std::max(terminal.width, 0)), terminal.color);
}

// The text, with notes about where series break.
Expected<Shown> with_notes(std::string text, const SqlDatabase& database,
                           const SeriesChoice& choice) {
  return read_breaks(database, choice).map([&text](const std::vector<SeriesBreak>& breaks) {
    Shown shown{std::move(text)};
    for (const std::string& line : break_lines(breaks)) shown.notes += line + "\n";
    return shown;
  });
}

Expected<std::string> steps_text(const SqlDatabase& database,
                                 const std::vector<RecordedStep>& steps,
                                 const HistoryOptions& options) {
  const Terminal terminal = inspect_terminal(STDOUT_FILENO, options.showing.color);
  StepsShowing showing;
  showing.with_functions = options.format != ReportFormat::kCsv;
  showing.width = static_cast<std::size_t>(std::max(terminal.width, 0));
  return steps_listing(database, steps, showing).map([&](const Listing& listing) {
    return text_of(listing, options);
  });
}

Expected<Shown> list(const SqlDatabase& database, const HistoryOptions& options) {
  SeriesChoice choice = options.choice();
  if (choice.metrics.empty()) choice.metrics = {kInstructions, kWall};
  return read_series(database, choice).and_then([&](const std::vector<SeriesSummary>& series) {
    return with_notes(text_of(series_listing(series), options), database, choice);
  });
}

Expected<Shown> show(const SqlDatabase& database, const HistoryOptions& options) {
  TRY_ASSIGN(const auto known, read_keys(database));
  TRY_ASSIGN(const auto keys, resolve_keys(options.operands, known));
  SeriesChoice choice = options.choice();
  choice.key = [&keys](const std::string& key) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  };
  TRY_ASSIGN(auto series, read_series(database, choice));
  std::string text;
  if (options.format == ReportFormat::kTable) {
    text = text_of(series_listing(series), options) + "\n";
  }
  return read_steps(database, choice, std::nullopt, /*with_first=*/true)
      .and_then([&](const std::vector<RecordedStep>& steps) {
        return steps_text(database, steps, options);
      })
      .and_then(
          [&](const std::string& steps) { return with_notes(text + steps, database, choice); });
}

Expected<Shown> steps(const SqlDatabase& database, const HistoryOptions& options) {
  TRY_ASSIGN(auto since, options.place_since());
  const SeriesChoice choice = options.choice();
  return read_steps(database, choice, since, /*with_first=*/false)
      .and_then([&](const std::vector<RecordedStep>& found) {
        return steps_text(database, found, options);
      })
      .and_then([&](std::string&& text) { return with_notes(std::move(text), database, choice); });
}

ExpectedStatus print(const HistoryOptions& options,
                     Expected<Shown> (*read)(const SqlDatabase&, const HistoryOptions&)) {
  // Closed before anything is printed: a pager keeps this waiting, and would keep writers waiting.
  TRY_ASSIGN(const auto shown,
             open_history(options.recording.file(), SqlAccess::kRead)
                 .and_then([&](const SqlDatabase& database) { return read(database, options); }));
  print_output(shown.text);
  if (!shown.notes.empty()) print_message(shown.notes);
  return kGood;
}

}  // namespace

SeriesChoice HistoryOptions::choice() const {
  return {make_key_selector(selection), metrics, recording.branch};
}

Expected<std::optional<Place>> HistoryOptions::place_since() const {
  if (!since) return std::nullopt;
  return Repository().find(*since).map(
      [](const Commit& commit) { return std::optional(commit.place()); });
}

ExpectedStatus history_list(const HistoryOptions& options) { return print(options, list); }

ExpectedStatus history_show(const HistoryOptions& options) { return print(options, show); }

ExpectedStatus history_steps(const HistoryOptions& options) { return print(options, steps); }

ExpectedStatus history_export(const HistoryOptions& options) {
  if (options.format == ReportFormat::kMarkdown) {
    return fail("`history export` is for programs", "write --format=csv or --format=jsonl");
  }
  const auto format =
      options.format == ReportFormat::kJsonl ? ReportFormat::kJsonl : ReportFormat::kCsv;
  TRY_ASSIGN(auto database, open_history(options.recording.file(), SqlAccess::kRead));
  const auto print = [format](const Listing& listing) {
    return print_output(listing_text(listing, format, 0, false));
  };
  print(points_listing());
  TRY(for_each_point(database, options.choice(), [&](const HistoryPoint& point) {
    Listing listing = points_listing(point);
    listing.has_head = false;
    return print(listing);
  }));
  return kGood;
}

ExpectedStatus history_issue(const HistoryOptions& options) {
  TRY_ASSIGN(auto database, open_history(options.recording.file(), SqlAccess::kRead));
  TRY_ASSIGN(auto accepted, read_accepted(options.accepted.value_or(default_accepted_file())));
  TRY_ASSIGN(auto since, options.place_since());
  TRY_ASSIGN(auto steps, unaccepted_growth(database, options.choice(), since, accepted));
  if (steps.empty()) {
    print_message("nothing costs more, or it was accepted\n");
    return kGood;
  }
  TRY_ASSIGN(auto text, growth_issue(database, steps, options.rest));
  print_output(text);
  return kRegression;
}

}  // namespace instr
