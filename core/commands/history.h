// The words of `instr_bench history`: a function for each.
#pragma once

#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/exit_status.h"
#include "core/commands/cli/options.h"
#include "core/definitions/select.h"
#include "core/history/read.h"
#include "core/history/recording.h"
#include "core/results/profiles_file.h"

namespace instr {

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

ExpectedStatus history_add(const HistoryOptions& options);
ExpectedStatus history_list(const HistoryOptions& options);
ExpectedStatus history_show(const HistoryOptions& options);
ExpectedStatus history_steps(const HistoryOptions& options);
ExpectedStatus history_issue(const HistoryOptions& options);
ExpectedStatus history_export(const HistoryOptions& options);
ExpectedStatus history_merge(const HistoryOptions& options);
ExpectedStatus history_prune(const HistoryOptions& options);
ExpectedStatus history_backfill(const HistoryOptions& options);

}  // namespace instr
