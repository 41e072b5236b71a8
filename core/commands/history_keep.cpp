#include <fmt/format.h>
#include <unistd.h>

#include "core/base/format.h"
#include "core/base/output.h"
#include "core/commands/history.h"
#include "core/engine/gate.h"
#include "core/history/prune.h"
#include "core/history/read_runs.h"
#include "core/history/schema.h"

namespace instr {

namespace {

namespace fs = std::filesystem;

// Said once it is done, or why it is not.
ExitStatus finish(const Expected<std::string>& done) {
  if (!done) return refuse(done.error());
  print_message(*done);
  return kGood;
}

Expected<SqlDatabase> open_other(const fs::path& file, const std::string& other) {
  std::error_code error;
  if (fs::equivalent(file, other, error)) {
    return tl::unexpected(Error{{other}, "this is the same history", "name another one"});
  }
  return open_history(other, SqlAccess::kRead);
}

Expected<std::string> merge_into(const SqlDatabase& database, const SqlDatabase& other,
                                 OnContradiction how) {
  auto runs = runs_of(other);
  if (!runs) return tl::unexpected(runs.error());
  return vary_of(other, {})
      .and_then(
          [&](const std::vector<std::string>& vary) { return record(database, *runs, how, vary); })
      .map([&](const Recorded& recorded) {
        return fmt::format("{}: {} of {}\n", database.file().string(), to_string(recorded),
                           printable(other.file().string()));
      });
}

}  // namespace

ExitStatus history_add(const HistoryOptions& options) {
  std::vector<ResultSet> all;
  std::vector<Origin> origins;
  for (const std::string& file : options.operands) {
    auto results = read_any_result_set(file, file, options.incomplete);
    if (!results) return refuse(results.error());
    origins.push_back({file, results->results.header.commit});
    all.push_back(std::move(*results));
  }
  auto recording = Recording::open(options.recording, origins);
  if (!recording) return refuse(recording.error());
  std::vector<HistoryRun> runs;
  for (const ResultSet& results : all) {
    auto run = recording->run_of(results);
    if (!run) return refuse(run.error());
    runs.push_back(std::move(*run));
  }
  return finish(recording->add(std::move(runs)));
}

ExitStatus history_merge(const HistoryOptions& options) {
  std::vector<SqlDatabase> others;  // all, before a history is made
  for (const std::string& name : options.operands) {
    auto other = open_other(options.recording.file(), name);
    if (!other) return refuse(other.error());
    others.push_back(std::move(*other));
  }
  auto database = open_history(options.recording.file(), SqlAccess::kCreate);
  if (!database) return refuse(database.error());
  for (const SqlDatabase& other : others) {
    const ExitStatus status =
        finish(merge_into(*database, other, options.recording.on_contradiction()));
    if (status != kGood) return status;
  }
  return kGood;
}

ExitStatus history_prune(const HistoryOptions& options) {
  auto database = open_history(options.recording.file(), SqlAccess::kWrite);
  if (!database) return refuse(database.error());
  const ExitStatus status =
      finish(Repository()
                 .find(*options.keep_since)
                 .and_then([&](const Commit& commit) {
                   return prune(*database, commit.place(), options.recording.branch);
                 })
                 .map([&](const Pruned& pruned) {
                   return fmt::format("{}: {} removed, and {} of which nothing is left\n",
                                      database->file().string(), format_plural(pruned.runs, "run"),
                                      format_count(static_cast<double>(pruned.series)) + " series");
                 }));
  if (status != kGood) return status;
  // What is removed is removed: later runs take its space.
  if (auto compacted = compact(*database); !compacted) {
    print_message("the file stays as large as it was: " + to_string(compacted.error()) + "\n");
  }
  return kGood;
}

}  // namespace instr
