// The command line as values, all of them checked.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/terminal.h"
#include "core/compare/compare.h"
#include "core/definitions/select.h"
#include "core/report/inspection.h"
#include "core/report/plot.h"
#include "core/report/report.h"
#include "core/results/experiment.h"
#include "core/values/simulation.h"

namespace instr {

enum class Command {
  kRun,
  kList,
  kWatch,
  kDoctor,
  kCompare,
  kBaseline,
  kExplain,
  kAb,
  kMerge,
  kBisect,
  kSelftest,
  kExperiment,
  kPlot
};
inline constexpr int kMostJobs = 4096;  // each is a thread
inline constexpr int kMostRepetitions = 1'000'000;
inline constexpr int kMostBatch = 1'000'000;

enum class Isolation { kFork, kProcess };
enum class Verbosity { kQuiet, kNormal, kVerbose };

// What a comparison is made with and held to.
struct GateOptions {
  std::optional<std::string> baseline;          // a name or a file
  std::optional<std::filesystem::path> expect;  // a file of expected counts
  bool update_expected = false;
  std::optional<std::filesystem::path> limits_file;
  std::optional<std::filesystem::path> base_limits_file;  // that file as it is at the base
  std::vector<std::string> vary;  // fields of the fingerprint that are under test
  bool allow_missing_shards = false;
  Incomplete incomplete = Incomplete::kRefused;
  bool show_same = false;
  CompareOptions compare;
};

struct Options {
  Command command = Command::kRun;    // kList for --list too
  std::vector<std::string> operands;  // behind the command
  std::vector<std::string> rest;      // behind `--`: bisect's command

  Selection selection;
  std::vector<std::filesystem::path> definitions;  // empty: the standard set

  std::vector<std::string> metrics;  // of kMetrics; empty: the usual ones
  // What these and the limits' metrics need.
  bool wants_counts = true;
  bool wants_times = false;
  bool wants_start = false;
  bool verify = false;                                     // what is not eager, against eager
  DumpParts dump;                                          // kept of each, in a folder of its own
  std::filesystem::path dump_folder = "instr_bench_dump";  // that these are in
  Simulation simulation;
  int repetitions = 10;  // of a variant that is timed
  // Of experiments, as their file or the command line says.
  ExperimentAxes axes;
  std::optional<int> repeat;
  std::optional<int> iterations_per_run;
  double min_time = 0.05;  // seconds that each of them takes at least
  int time_cores = 0;      // that do nothing but time, while the others count; 0: times come after
  int jobs = 0;            // 0: not given, one for each core
  std::optional<double> timeout;  // seconds for one variant; absent: the definition's, or the usual
  int retries = 2;                // of variants whose worker was lost
  Isolation isolation = Isolation::kFork;

  GateOptions gate;
  std::optional<std::string> save;  // the baseline's name
  // Self costs of functions are for results that are kept or compared: for a table of counts alone,
  // measuring them would be lost time.
  bool want_functions = false;

  std::optional<std::filesystem::path> output;
  ReportFormat format = ReportFormat::kTable;
  std::optional<std::filesystem::path> keep_profiles;
  bool show_keys = false;  // instead of the tables' names
  Verbosity verbosity = Verbosity::kNormal;
  ColorMode color = ColorMode::kAuto;

  std::optional<std::filesystem::path> libtorch;
  std::optional<std::string> compiler;
  std::optional<std::filesystem::path> build;  // a file whose [build] takes the definitions' place
  // Of ab: these options twice, but for the one that was given twice; and what that was.
  std::vector<Options> sides;
  std::string side_name;
  PlotOptions plot;
  int top = 25;      // functions that explain shows
  int repeats = 20;  // of the selftest's unchanged runs
  bool use_cache = true;
  bool dry_run = false;
  bool reverse_order = false;  // the last variant first: counts must not depend on the order
  int churn = 0;  // blocks that each zygote allocates first: counts must not depend on its heap

  // What --help or --version asked for: to be printed on standard output, then exit 0.
  std::optional<std::string> show;
};

// Options stand before or after the sub-command; of a repeated option that takes one value the last
// counts. Errors have no place, and advice that names the nearest option or value.
Expected<Options> parse_options(int argc, const char* const* argv);

// The text of --help for a command; for kRun the general one.
std::string help_text(Command command = Command::kRun);

}  // namespace instr
