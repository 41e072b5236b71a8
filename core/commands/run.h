// The options of `run`: the selection, the measuring, and the use of the results.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/commands/commands.h"
#include "core/history/recording.h"
#include "core/run/config.h"

namespace instr {

struct RunOptions {
  PlanConfig plan = {};
  MeasureConfig measure = {};
  GateOptions gate = {};
  Showing showing = {};
  ReportFormat format = ReportFormat::kTable;
  std::vector<std::string> metrics = {};  // empty: the usual ones
  bool show_same = false;
  bool shows_modules = false;           // a table of an import's modules is shown, too
  int max_modules = 25;                 // the rows of that table
  std::optional<fs::path> flames = {};  // a folder
  bool is_dry_run = false;
  std::optional<fs::path> output = {};
  bool resumes = false;                  // goes on with what `output` has
  std::optional<std::string> save = {};  // the baseline's name
  bool record = false;                   // adds the run to the history
  RecordingOptions recording = {};
};

void declare_run(CommandLine& line, RunOptions& options);

// Declares those of the options that programs have: how to count, what to keep, show and compare.
void declare_run_of_programs(CommandLine& line, RunOptions& options);

// Has the run measure this program, as a definition with the label would.
void set_program(RunOptions& options, std::string label, Program program);

// Plans, measures, keeps, compares and shows. Everything that can be refused is, before anything is
// measured.
ExpectedStatus measure_and_report(const RunOptions& options, const Invocation& invocation);

}  // namespace instr
