#include <fmt/format.h>

#include <set>

#include "core/base/format.h"
#include "core/base/git.h"
#include "core/base/output.h"
#include "core/base/output_file.h"
#include "core/base/text.h"
#include "core/commands/commands.h"
#include "core/history/schema.h"
#include "core/report/experiment_report.h"
#include "core/report/html_page.h"
#include "core/results/baselines.h"
#include "core/results/result_set.h"
#include "core/run/gate.h"

namespace instr {

namespace {

struct ReportArguments {
  std::vector<std::string> files;
  std::optional<fs::path> html;
  std::optional<fs::path> history;
  std::optional<fs::path> accepted;
  std::optional<std::string> branch;
  std::optional<std::string> since;
  std::optional<std::string> title;
  std::vector<std::string> vary;
  std::vector<std::string> metrics;
  Selection selection;
  Incomplete incomplete = Incomplete::kRefused;
  SummaryOptions summary;
  Showing showing;
};

constexpr FileKind kReport{
    "a report of instr_bench", [](std::string_view start) {
      return start.substr(0, 4096).find("<title>Report of instr_bench</title>") !=
             std::string_view::npos;
    }};

Expected<ReportData> read_files(const ReportArguments& options, const Acceptances& accepted) {
  std::vector<ResultSet> files;
  std::vector<std::vector<Measurement>> experiments;
  const auto selected = make_selector(options.selection);
  const auto selected_or_eager = make_selector(with_eager(options.selection));
  for (const std::string& name : options.files) {
    TRY_ASSIGN(const auto file, find_baseline(name));
    TRY_ASSIGN(auto results, read_result_set(file, name, options.incomplete));
    // Speed-ups need eager, whatever --backend names.
    const bool has_speedups = has_experiments(results.results.measurements);
    results = keep_selected(std::move(results), has_speedups ? selected_or_eager : selected);
    if (has_speedups) experiments.push_back(results.results.measurements);
    files.push_back(std::move(results));
  }
  const SeriesChoice of_metrics{{}, options.metrics, {}};
  TRY_ASSIGN(auto data, report_of_files(files, options.vary, accepted));
  std::erase_if(data.series, [&](const ReportSeries& series) { return !of_metrics.has(series); });
  if (!experiments.empty()) data.experiments = report_experiments(experiments, options.summary);
  return data;
}

// Finds the column of each branch at that commit.
ReportSince make_since(const std::string& name, const Commit& commit, const ReportData& data) {
  ReportSince since{name, {}};
  for (std::size_t i = 0; i < data.columns.size(); ++i) {
    const ReportColumn& column = data.columns[i];
    if (column.position <= commit.position) since.columns[column.branch] = i;
  }
  return since;
}

// Finds the commit of --since or, if the repository has a tag, the last release.
Expected<std::optional<ReportSince>> find_since(const ReportArguments& options,
                                                const ReportData& data) {
  const Repository repository;
  const auto release = options.since ? *options.since : repository.last_release();
  if (!release) return std::nullopt;
  auto commit = repository.find(*release);
  if (commit) return make_since(*release, *commit, data);
  if (options.since) return fail(commit.error());
  return std::nullopt;
}

Expected<ReportData> read_history_data(const ReportArguments& options,
                                       const Acceptances& accepted) {
  TRY_ASSIGN(auto database,
             open_history(options.history.value_or(default_history_file()), SqlAccess::kRead));
  const SeriesChoice choice{make_key_selector(options.selection), options.metrics, options.branch};
  auto data = report_of_history(database, choice, accepted);
  if (!data) return data;
  TRY_ASSIGN(data->since, find_since(options, *data));
  if (options.history) data->history = " " + shell_word("--history=" + options.history->string());
  return data;
}

std::string default_title() {
  const fs::path folder = project_folder().parent_path();
  std::error_code error;
  return "Benchmarks of " + fs::absolute(folder, error).filename().string();
}

// "12 benchmarks at 60 commits"
std::string summarize(const ReportArguments& options, const ReportData& data) {
  std::set<std::string> keys;
  for (const ReportSeries& series : data.series) keys.insert(series.key);
  for (const ReportOutcome& outcome : data.outcomes) keys.insert(outcome.key);
  return fmt::format("{} {} {}", format_plural(keys.size(), "benchmark"),
                     options.files.empty() ? "at" : "in",
                     format_plural(data.columns.size(), options.files.empty() ? "commit" : "file"));
}

ExpectedStatus run_report(const ReportArguments& options) {
  TRY_ASSIGN(auto output, OutputFile::open(*options.html, kReport));
  TRY_ASSIGN(auto accepted, read_accepted(options.accepted.value_or(default_accepted_file())));
  TRY_ASSIGN(auto data, options.files.empty() ? read_history_data(options, accepted)
                                              : read_files(options, accepted));
  if (data.series.empty() && data.outcomes.empty()) {
    return fail("there is nothing to report", "select more, or record results first");
  }
  data.title = options.title.value_or(default_title());
  TRY(write_to(std::move(output), report_page(data, utc_now())));
  if (options.showing.verbosity != Verbosity::kQuiet) {
    print_message(
        fmt::format("{}: {}\n", printable(options.html->string()), summarize(options, data)));
  }
  return kGood;
}

Expected<void> check(const ReportArguments& options) {
  if (!options.html) {
    return fail("report needs to know where to write it", "add --html=FILE");
  }
  if (!options.files.empty() && (options.history || options.branch || options.since)) {
    return fail("--history, --branch and --since are for a report of the history, not of files",
                "omit them, or the files");
  }
  const bool is_for_files = !options.vary.empty() || options.incomplete != Incomplete::kRefused;
  if (!options.files.empty() || !is_for_files) return {};
  return fail("--vary and --allow-incomplete are for a report of files", "name some, or omit them");
}

void declare_content(CommandLine& line, ReportArguments& options) {
  line.group("What it is made from");
  line.option("--history", "FILE", kHistoryHelp, take_path(options.history));
  line.option("--branch", "NAME", "of the history, only this branch", take_text(options.branch));
  declare_accepted(line, options.accepted);
  declare_vary(line, options.vary);
  declare_incomplete(line, options.incomplete, "files may be of runs that did not finish");
  declare_selection(line, options.selection);
  declare_metrics(line, options.metrics);
}

}  // namespace

Action report_command(CommandLine& line) {
  auto options = std::make_shared<ReportArguments>();
  line.describe(
      "Writes a report as one HTML file, which needs neither a server nor a network: of the "
      "history or of files of results or experiments, with a column for each. It shows what needs "
      "attention, tables by suite, test and backend, speed-ups over eager, the steps of each "
      "benchmark with their functions, and any two commits side by side.");
  line.operands({"[FILE...]", 0, 1000}, options->files);
  line.group("What to write");
  line.option("--html", "FILE", "the page to write", take_path(options->html));
  line.option("--title", "TEXT", "its heading (default: the project's folder)",
              take_text(options->title));
  line.option("--since", "REV",
              "what came later is new in it (default: the last tag, where there is one)",
              take_text(options->since));
  declare_content(line, *options);
  line.group("What to show");
  declare_summary(line, options->summary);
  line.needs(
      {"flag-speedup", "flag-compile", "flag-memory", "arithmetic-mean"},
      [options = options.get()] { return !options->files.empty(); }, "files of experiments");
  declare_showing(line, options->showing);
  line.check([options = options.get()] { return check(*options); });
  return [options](const Invocation&) { return run_report(*options); };
}

}  // namespace instr
