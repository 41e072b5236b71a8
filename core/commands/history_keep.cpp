#include <fmt/format.h>
#include <unistd.h>

#include "core/base/format.h"
#include "core/base/output.h"
#include "core/commands/history.h"
#include "core/history/prune.h"
#include "core/history/read_runs.h"
#include "core/history/schema.h"
#include "core/results/result_set.h"
#include "core/run/backfill.h"
#include "core/run/gate.h"

namespace instr {

namespace {

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

}  // namespace

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

}  // namespace instr
