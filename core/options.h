// The command line as values, all of them checked.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/report.h"
#include "core/select.h"
#include "core/terminal.h"

namespace instr {

enum class Command { kRun, kList, kWatch, kDoctor };
enum class Isolation { kFork, kProcess };
enum class Verbosity { kQuiet, kNormal, kVerbose };

struct Options {
  Command command = Command::kRun;  // kList for --list too

  Selection selection;
  std::vector<std::filesystem::path> definitions;  // empty: the standard set

  std::vector<std::string> metrics;  // of kMetrics; empty: the usual ones
  int jobs = 0;                      // 0: not given, one for each core
  std::optional<double> timeout;     // seconds for one variant; absent: the definition's, or the usual
  int retries = 2;                   // of variants whose worker was lost
  Isolation isolation = Isolation::kFork;

  std::optional<std::filesystem::path> output;
  ReportFormat format = ReportFormat::kTable;
  std::optional<std::filesystem::path> keep_profiles;
  Verbosity verbosity = Verbosity::kNormal;
  ColorMode color = ColorMode::kAuto;

  std::optional<std::filesystem::path> libtorch;
  std::optional<std::string> compiler;
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

// The text of --help.
std::string help_text();

}  // namespace instr
