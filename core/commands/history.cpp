#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/format.h"
#include "core/base/near_match.h"
#include "core/base/output.h"
#include "core/base/program_end.h"
#include "core/commands/commands.h"
#include "core/history/record.h"
#include "core/history/recording.h"
#include "core/history/schema.h"
#include "core/report/formats.h"
#include "core/report/history_tables.h"
#include "core/results/profiles_file.h"
#include "core/results/result_set.h"
#include "core/run/backfill.h"
#include "core/run/gate.h"

namespace instr {

namespace {

// The options of all words of `instr_bench history`.
struct HistoryOptions {
  std::vector<std::string> operands;  // the arguments that follow the word
  RecordingOptions recording;         // the history and branch, of all words
  Incomplete incomplete = Incomplete::kRefused;
  std::optional<std::string> since;
  std::optional<fs::path> accepted;  // nothing: the project's
  std::optional<std::string> keep_since;
  std::optional<std::string> make;  // builds a commit
  bool bisect = false;              // measure only the commits that attribute steps
  std::vector<std::string> rest;    // everything after --
  Selection selection;
  std::vector<std::string> metrics;
  ReportFormat format = ReportFormat::kTable;
  Showing showing;
  std::stop_token stop;

  SeriesChoice choice() const;
  Expected<std::optional<Place>> place_since() const;
};

// The words: a function for each.
ExpectedStatus history_add(const HistoryOptions& options);
ExpectedStatus history_list(const HistoryOptions& options);
ExpectedStatus history_show(const HistoryOptions& options);
ExpectedStatus history_steps(const HistoryOptions& options);
ExpectedStatus history_issue(const HistoryOptions& options);
ExpectedStatus history_export(const HistoryOptions& options);
ExpectedStatus history_merge(const HistoryOptions& options);
ExpectedStatus history_prune(const HistoryOptions& options);
ExpectedStatus history_backfill(const HistoryOptions& options);

using WordOptions = std::array<std::string_view, 6>;
constexpr WordOptions kAdding{"commit",       "branch",  "vary",
                              "trust-commit", "replace", "allow-incomplete"};
constexpr WordOptions kListing{"branch", "filter", "exclude", "metrics", "format"};
constexpr WordOptions kSteps{"since", "branch", "filter", "exclude", "metrics", "format"};
constexpr WordOptions kIssue{"since", "branch", "filter", "exclude", "metrics", "accepted"};

// A subcommand of history.
struct HistoryWord {
  std::string_view name;
  std::string_view operands;  // "FILE...", "A..B" or empty
  const char* summary;
  WordOptions options;  // besides those of every word
  ExpectedStatus (*run)(const HistoryOptions& options);

  bool takes(std::size_t count) const {
    if (operands.empty()) return count == 0;
    return count == 1 || (count > 1 && operands.ends_with("..."));
  }
};

constexpr auto kWords = std::to_array<HistoryWord>({
    {"add", "FILE...", "record results of a commit", kAdding, history_add},
    {"list", "", "the series: how often measured, steps, the last value", kListing, history_list},
    {"show", "KEY...", "the series of benchmarks: their first value and each step",
     WordOptions{"branch", "metrics", "format"}, history_show},
    {"steps", "", "what changed, at which commit, in which functions", kSteps, history_steps},
    {"issue", "", "an issue, in Markdown, about what costs more unaccepted", kIssue, history_issue},
    {"export", "", "every value at every measured commit, for other programs", kListing,
     history_export},
    {"merge", "HISTORY...", "add the runs of other histories", WordOptions{"replace"},
     history_merge},
    {"prune", "", "remove what is older than --keep-since", WordOptions{"keep-since", "branch"},
     history_prune},
    {"backfill", "A..B", "measure and record the commits from A to B",
     WordOptions{"branch", "make", "bisect"}, history_backfill},
});

const HistoryWord* find_word(const std::string& name) {
  const auto* word =
      std::find_if(kWords.begin(), kWords.end(),
                   [&name](const HistoryWord& candidate) { return candidate.name == name; });
  return word == kWords.end() ? nullptr : word;
}

std::string list_of_words() {
  std::string text;
  for (const HistoryWord& word : kWords) {
    text +=
        fmt::format("  {:<17} {}\n", fmt::format("{} {}", word.name, word.operands), word.summary);
  }
  return text;
}

// "`history list`, `show` or `steps`"
std::string takers_of(const std::string& option) {
  std::vector<std::string> names;
  for (const HistoryWord& word : kWords) {
    if (std::find(word.options.begin(), word.options.end(), option) == word.options.end()) continue;
    names.push_back(fmt::format("`history {}`", word.name));
  }
  return fmt::format("{}", fmt::join(names, " or "));
}

void declare_recording(CommandLine& line, HistoryOptions& options) {
  line.group("What is recorded");
  line.option("--commit", "REV",
              "the commit that was measured (default: what results say, or HEAD)",
              take_text(options.recording.commit));
  declare_vary(line, options.recording.vary);
  line.flag("--trust-commit",
            "results may seem older than their commit, or say that they are of another",
            options.recording.trust_commit);
  line.flag("--replace", "counts that the commit is recorded with may be replaced by others",
            options.recording.replace);
  declare_incomplete(line, options.incomplete, "results may be from a run that did not finish");
}

void declare_reading(CommandLine& line, HistoryOptions& options) {
  line.rest("OPTIONS...", options.rest);
  line.option("--make", "COMMAND", "how to build a commit, if a definition's [build] does not",
              take_text(options.make));
  line.flag("--bisect", "measure only what tells which commits made the steps", options.bisect);
  line.group("What to remove");
  line.option("--keep-since", "REV", "keep this commit and what comes later",
              take_text(options.keep_since));
  line.group("What to show");
  line.option("--since", "REV", "only steps after this commit", take_text(options.since));
  line.option("--filter", "PATTERN", "only benchmarks that match; repeatable",
              add_text(options.selection.filters));
  line.option("--exclude", "PATTERN", "not those that match; repeatable",
              add_text(options.selection.excludes));
  declare_accepted(line, options.accepted);
  declare_metrics(line, options.metrics);
  declare_format(line, options.format, document_formats());
}

// Refuses options that the given word does not take.
void restrict_options(CommandLine& line, const std::vector<std::string>& operands) {
  for (const OptionInfo& option : std::vector(line.options().begin(), line.options().end())) {
    if (takers_of(option.name).empty()) continue;
    line.needs(
        {option.name},
        [&operands, name = option.name] {
          const HistoryWord* word = operands.empty() ? nullptr : find_word(operands.front());
          return word == nullptr ||
                 std::find(word->options.begin(), word->options.end(), name) != word->options.end();
        },
        takers_of(option.name));
  }
}

Expected<void> check_word(const std::vector<std::string>& operands) {
  std::vector<std::string> names;
  for (const HistoryWord& word : kWords) names.emplace_back(word.name);
  if (operands.empty()) {
    return fail(fmt::format("`history` takes one of {}", fmt::join(names, ", ")),
                "see instr_bench history --help");
  }
  const HistoryWord* word = find_word(operands.front());
  if (word == nullptr) {
    return fail("`history` does not know `" + operands.front() + "`",
                did_you_mean(operands.front(), names));
  }
  if (word->takes(operands.size() - 1)) return {};
  return fail(fmt::format("`history {}` takes {}", word->name,
                          word->operands.empty() ? "no operands" : word->operands),
              "see instr_bench history --help");
}

}  // namespace

Action history_command(CommandLine& line) {
  struct State {
    std::vector<std::string> operands;
    HistoryOptions options;
  };
  auto state = std::make_shared<State>();
  HistoryOptions& options = state->options;
  line.describe(
      "Keeps what was measured of each commit, in an SQLite database. Exact counts are kept as "
      "steps: the commits at which they changed, with the functions; of times all are kept. Runs "
      "that were measured differently never join into one series. docs/HISTORY.md describes its "
      "tables.");
  line.operands({"WORD...", 0, kMaxOperands}, state->operands);
  line.section("Words", list_of_words());
  line.group("Which history");
  line.option("--history", "FILE", kHistoryHelp, take_path(options.recording.history));
  line.option("--branch", "NAME",
              "the branch that the commit is on (default: the one checked out), or whose series "
              "are shown (default: all)",
              take_text(options.recording.branch));
  declare_recording(line, options);
  declare_reading(line, options);
  restrict_options(line, state->operands);
  declare_showing(line, options.showing);
  line.check([state = state.get()]() -> Expected<void> {
    TRY(check_word(state->operands));
    const std::string& word = state->operands.front();
    if (!state->options.rest.empty() && word != "backfill" && word != "issue") {
      return fail(
          "options after -- are for the runs of `history backfill`, and for `history issue`",
          "omit them");
    }
    if (word != "prune" || state->options.keep_since) return {};
    return fail("`history prune` needs to know what to keep", "add --keep-since=REV");
  });
  return [state](const Invocation& invocation) {
    const HistoryWord* word = find_word(state->operands.front());
    HistoryOptions given = state->options;
    given.operands.assign(state->operands.begin() + 1, state->operands.end());
    given.stop = invocation.stop;
    return word->run(given);
  };
}

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

Expected<SqlDatabase> open_other(const fs::path& file, const std::string& other) {
  std::error_code error;
  if (fs::equivalent(file, other, error)) {
    return fail_at({other}, "this is the history that the others are merged into", "omit it");
  }
  return open_history(other, SqlAccess::kRead);
}

Expected<std::string> merge_into(const SqlDatabase& database, const SqlDatabase& other,
                                 OnContradiction how) {
  TRY_ASSIGN(auto runs, read_runs(other));
  TRY_ASSIGN(const auto vary, resolve_vary(other, {}));
  TRY_ASSIGN(const auto recorded, record(database, runs, how, vary));
  return fmt::format("{}: {} of {}\n", database.file().string(), to_string(recorded),
                     printable(other.file().string()));
}

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

ExpectedStatus history_add(const HistoryOptions& options) {
  std::vector<ResultSet> all;
  std::vector<Origin> origins;
  for (const std::string& file : options.operands) {
    TRY_ASSIGN(auto results, read_result_set(file, file, options.incomplete));
    origins.push_back({file, results.results.header.commit});
    all.push_back(std::move(results));
  }
  TRY_ASSIGN(auto recording, Recording::open(options.recording, origins));
  std::vector<HistoryRun> runs;
  for (const ResultSet& results : all) {
    TRY_ASSIGN(auto run, recording.make_run(results));
    runs.push_back(std::move(run));
  }
  TRY_ASSIGN(const auto text, recording.add(std::move(runs)));
  print_message(text);
  return kGood;
}

ExpectedStatus history_merge(const HistoryOptions& options) {
  std::vector<SqlDatabase> others;  // opened before a history is made
  for (const std::string& name : options.operands) {
    TRY_ASSIGN(auto other, open_other(options.recording.file(), name));
    others.push_back(std::move(other));
  }
  TRY_ASSIGN(auto database, open_history(options.recording.file(), SqlAccess::kCreate));
  for (const SqlDatabase& other : others) {
    TRY_ASSIGN(const auto text, merge_into(database, other, options.recording.on_contradiction()));
    print_message(text);
  }
  return kGood;
}

ExpectedStatus history_prune(const HistoryOptions& options) {
  TRY_ASSIGN(auto database, open_history(options.recording.file(), SqlAccess::kWrite));
  TRY_ASSIGN(const auto since, Repository().find(*options.keep_since));
  TRY_ASSIGN(const auto pruned, prune(database, since.place(), options.recording.branch));
  print_message(fmt::format("{}: {} removed, and {} series that are empty now\n",
                            database.file().string(), format_plural(pruned.runs, "run"),
                            format_count(static_cast<double>(pruned.series))));
  // The rows are deleted; if this fails, later runs reuse the space.
  if (auto compacted = compact(database); !compacted) {
    print_message("the file stays as large as it was: " + to_string(compacted.error()) + "\n");
  }
  return kGood;
}

ExpectedStatus history_backfill(const HistoryOptions& options) {
  TRY_ASSIGN(auto branch, options.recording.find_branch(Repository()));
  return backfill(
      {fs::absolute(options.recording.file()), std::move(branch), options.operands.front(),
       options.make.value_or("true"), options.bisect, options.rest},
      options.stop);
}

}  // namespace

}  // namespace instr
