#include <unistd.h>

#include <algorithm>

#include "core/base/format.h"
#include "core/base/near_match.h"
#include "core/base/output.h"
#include "core/base/shell.h"
#include "core/base/terminal.h"
#include "core/commands/history.h"
#include "core/definitions/select.h"
#include "core/history/history_report.h"
#include "core/history/renames.h"
#include "core/history/schema.h"

namespace instr {

namespace {

void print(const Listing& listing, const HistoryOptions& options) {
  const Terminal terminal = inspect_terminal(STDOUT_FILENO, options.showing.color);
  print_output(listing_text(listing, options.format,
                            static_cast<std::size_t>(std::max(terminal.width, 0)), terminal.color));
}

// Beside a table for people: where lines break, and which may be one line.
Expected<void> print_notes(const SqlDatabase& database, const HistoryOptions& options,
                           const SeriesChoice& choice) {
  auto breaks = read_breaks(database, choice);
  if (!breaks) return tl::unexpected(breaks.error());
  for (const std::string& line : break_lines(*breaks)) print_message(line + "\n");
  const auto& file = options.recording.history;
  const std::string which = file ? " --history=" + shell_word(file->string()) : "";
  return read_renames(database, choice).map([&](const std::vector<RecordedRename>& renames) {
    for (const std::string& line : rename_lines(renames)) print_message(line + which + "\n");
  });
}

Expected<void> print_steps(const SqlDatabase& database, const std::vector<RecordedStep>& steps,
                           const HistoryOptions& options) {
  const Terminal terminal = inspect_terminal(STDOUT_FILENO, options.showing.color);
  StepsShowing showing;
  showing.with_functions = options.format != ReportFormat::kCsv;
  showing.width = static_cast<std::size_t>(std::max(terminal.width, 0));
  return steps_listing(database, steps, showing).map([&](const Listing& listing) {
    print(listing, options);
  });
}

std::vector<std::string> keys_of(const std::vector<SeriesSummary>& series) {
  std::vector<std::string> keys;
  for (const SeriesSummary& one : series) {
    if (keys.empty() || keys.back() != one.series.key) keys.push_back(one.series.key);
  }
  return keys;
}

// An error if the history does not have all of them.
Expected<void> check_keys(const SqlDatabase& database, const std::vector<std::string>& keys) {
  auto all = read_series(database, {});
  if (!all) return tl::unexpected(all.error());
  const std::vector<std::string> known = keys_of(*all);
  for (const std::string& key : keys) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    return fail("the history has no benchmark `" + printable(key) + "`", did_you_mean(key, known));
  }
  return {};
}

}  // namespace

SeriesChoice HistoryOptions::choice() const {
  return {key_selector(selection), metrics, recording.branch};
}

Expected<std::optional<Place>> HistoryOptions::place_since() const {
  if (!since) return std::nullopt;
  return Repository().find(*since).map(
      [](const Commit& commit) { return std::optional(commit.place()); });
}

ExitStatus history_list(const HistoryOptions& options) {
  auto database = open_history(options.recording.file(), SqlAccess::kRead);
  if (!database) return refuse(database.error());
  SeriesChoice choice = options.choice();
  if (choice.metrics.empty()) choice.metrics = {kInstructions, kWall};
  auto series = read_series(*database, choice);
  if (!series) return refuse(series.error());
  print(series_listing(*series), options);
  auto noted = print_notes(*database, options, choice);
  return noted ? kGood : refuse(noted.error());
}

ExitStatus history_show(const HistoryOptions& options) {
  auto database = open_history(options.recording.file(), SqlAccess::kRead);
  if (!database) return refuse(database.error());
  auto known = check_keys(*database, options.operands);
  if (!known) return refuse(known.error());
  SeriesChoice choice = options.choice();
  choice.key = [&options](const std::string& key) {
    return std::find(options.operands.begin(), options.operands.end(), key) !=
           options.operands.end();
  };
  auto series = read_series(*database, choice);
  if (!series) return refuse(series.error());
  if (options.format == ReportFormat::kTable) {
    print(series_listing(*series), options);
    print_output("\n");
  }
  auto steps = read_steps(*database, choice, std::nullopt, /*with_first=*/true);
  if (!steps) return refuse(steps.error());
  auto printed = print_steps(*database, *steps, options);
  if (!printed) return refuse(printed.error());
  auto noted = print_notes(*database, options, choice);
  return noted ? kGood : refuse(noted.error());
}

ExitStatus history_steps(const HistoryOptions& options) {
  auto database = open_history(options.recording.file(), SqlAccess::kRead);
  if (!database) return refuse(database.error());
  auto since = options.place_since();
  if (!since) return refuse(since.error());
  const SeriesChoice choice = options.choice();
  auto steps = read_steps(*database, choice, *since, /*with_first=*/false);
  if (!steps) return refuse(steps.error());
  auto printed = print_steps(*database, *steps, options);
  if (!printed) return refuse(printed.error());
  auto noted = print_notes(*database, options, choice);
  return noted ? kGood : refuse(noted.error());
}

}  // namespace instr
