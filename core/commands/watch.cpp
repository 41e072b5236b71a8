#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <set>
#include <thread>

#include "core/base/format.h"
#include "core/base/output.h"
#include "core/commands/commands.h"
#include "core/compile/compiled_variant.h"
#include "core/definitions/load.h"
#include "core/definitions/metrics.h"
#include "core/results/measurement.h"
#include "core/run/pipeline.h"
#include "core/run/session.h"

namespace instr {

namespace {

// The state of the definition files: a change of any of these is a save.
using FileStamps = std::map<fs::path, std::string>;

// The lines for the measurements of a watch.
class WatchLines {
 public:
  // The line has the previous count; it is empty if a failure or a skip is unchanged.
  std::string next(const Measurement& now, bool color);

 private:
  std::map<std::string, double> last_ir_;
  std::map<std::string, std::string> last_failure_;
};

using namespace std::chrono_literals;

// Checking some dozens of files costs microseconds.
constexpr auto kLookEvery = 50ms;

std::string stamp(const fs::path& file) {
  struct stat status;
  if (::stat(file.c_str(), &status) != 0) return "missing";
  return fmt::format("{}.{:09}/{}/{}", status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
                     status.st_size, status.st_ino);
}

void stamp_folder(const fs::path& folder, FileStamps& stamps) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().extension() == ".toml") stamps[entry.path()] = stamp(entry.path());
  }
}

// Waits for a change of the files; false if `stop` came first.
bool wait_for_save(const std::function<FileStamps()>& look, const FileStamps& known,
                   std::stop_token stop) {
  while (!stop.stop_requested()) {
    if (look() != known) return true;
    std::this_thread::sleep_for(kLookEvery);
  }
  return false;
}

std::string clock_now() {
  std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  return fmt::format("{:02}:{:02}:{:02}", parts.tm_hour, parts.tm_min, parts.tm_sec);
}

// Finds *.toml in these paths and beside the files among them, and the sources that these name.
FileStamps stamp_files(const std::vector<fs::path>& paths, const std::vector<Variant>& variants) {
  FileStamps stamps;
  std::set<fs::path> folders;
  std::error_code ignored;
  for (const auto& path : paths) {
    if (!fs::is_directory(path, ignored)) {
      folders.insert(path.has_parent_path() ? path.parent_path() : fs::path("."));
      continue;
    }
    folders.insert(path);
    for (const auto& entry : fs::recursive_directory_iterator(path, ignored)) {
      if (entry.is_directory(ignored)) folders.insert(entry.path());
    }
  }
  for (const auto& variant : variants) {
    for (const auto& setup : variant.setups) {
      fs::path file(setup.where.file);
      folders.insert(file.has_parent_path() ? file.parent_path() : fs::path("."));
    }
    if (!variant.build) continue;
    for (const auto& source : variant.build->sources) stamps[source] = stamp(source);
  }
  for (const auto& folder : folders) stamp_folder(folder, stamps);
  return stamps;
}

// "matmul/mm/...   1,234   was 1,200   +34 (+2.83%)": one line, with a newline.
std::string watch_line(const Measurement& now, const std::optional<double>& last_ir, bool color) {
  const std::string& key = now.variant.key;
  std::string time = styled(clock_now(), Style::kDim, color);
  if (const auto* skipped = std::get_if<Skipped>(&now.outcome)) {
    return fmt::format("{}  {}  skipped: {}\n", time, key, skipped->reason);
  }
  if (const auto* failure = std::get_if<Failure>(&now.outcome)) {
    return fmt::format("{}  {}  {}: {}\n", time, key,
                       styled(to_string(failure->kind), Style::kBad, color), failure->message);
  }
  const auto& counted = std::get<Counted>(now.outcome);
  double ir = counted.metrics.at(kInstructions);
  std::string line =
      fmt::format("{}  {}  {}{}", time, key, format_count(ir), counted.steady ? "" : " ~");
  if (last_ir) {
    double difference = ir - *last_ir;
    std::string change =
        difference == 0 ? "same"
                        : fmt::format("{}{}", difference > 0 ? "+" : "", format_count(difference));
    if (difference != 0 && *last_ir != 0)
      change += fmt::format(" ({:+.2f}%)", 100 * difference / *last_ir);
    Style style = difference > 0 ? Style::kBad : difference < 0 ? Style::kGood : Style::kDim;
    line += fmt::format("  was {}  {}", format_count(*last_ir), styled(change, style, color));
  }
  return line + "\n";
}

std::string WatchLines::next(const Measurement& now, bool color) {
  const std::string& key = now.variant.key;
  auto before = last_ir_.find(key);
  std::string line = watch_line(
      now, before == last_ir_.end() ? std::nullopt : std::optional(before->second), color);
  if (const auto* counted = std::get_if<Counted>(&now.outcome)) {
    last_ir_[key] = counted->metrics.at(kInstructions);
    last_failure_.erase(key);
    return line;
  }
  const auto* failure = std::get_if<Failure>(&now.outcome);
  std::string why = failure ? failure->message : std::get<Skipped>(now.outcome).reason;
  return std::exchange(last_failure_[key], why) == why ? "" : line;
}

// Runs until `stop`. Errors in the files go to `diagnose`, and it waits for the next save;
// measurements go to the session's on_done.
Expected<void> watch(const PlanConfig& config, Session& session,
                     const std::function<void(const std::string&)>& diagnose,
                     std::stop_token stop) {
  const std::vector<fs::path> paths = definition_paths(config);
  std::map<std::string, std::string> measured;  // key -> the code of it that was measured last
  std::vector<Variant> variants;
  while (!stop.stop_requested()) {
    FileStamps before = stamp_files(paths, variants);
    auto loaded = plan(config);
    if (loaded) {
      variants = std::move(*loaded);
      // Units are content-addressed: the same symbol of the same unit is the same code.
      auto selected = [&](const CompiledVariant& compiled) {
        std::string code = compiled.unit.string() + ":" + compiled.symbol;
        return std::exchange(measured[compiled.variant.key], code) != code;
      };
      TRY_ASSIGN(auto finished, session.measure(session.admit(variants), stop, selected));
      if (!finished) break;
      diagnose("watching; save a definition to count it again, Ctrl-C to quit\n");
    } else {
      for (const auto& error : loaded.error()) diagnose(to_string(error) + "\n");
    }
    if (!wait_for_save([&] { return stamp_files(paths, variants); }, before, stop)) break;
  }
  return {};
}

struct WatchArguments {
  PlanConfig plan;
  MeasureConfig measure;
  Showing showing;
};

ExpectedStatus run_watch(const WatchArguments& options, std::stop_token interrupted) {
  // A missing file could not be waited for: its folder is not watched.
  for (const fs::path& path : definition_paths(options.plan)) {
    std::error_code error;
    if (!fs::exists(path, error)) TRY(load_definitions({path}));
  }
  // Stops once standard output is closed.
  std::stop_source ending;
  std::stop_callback pass_on(interrupted, [&ending] { ending.request_stop(); });
  std::stop_token stop = ending.get_token();
  bool color = inspect_terminal(STDOUT_FILENO, options.showing.color).color;
  Progress progress(progress_options(options.showing));
  WatchLines lines;
  SessionEvents events = progress_events(progress);
  events.on_done = [&](const Measurement& measurement) {
    progress.finished(measurement);
    if (!progress.print(STDOUT_FILENO, lines.next(measurement, color))) ending.request_stop();
  };
  TRY_ASSIGN(auto session, Session::open(options.measure, events, stop));
  auto ended = watch(
      options.plan, *session,
      [&](const std::string& text) {
        progress.phase("");
        progress.print(STDERR_FILENO, text);
      },
      stop);
  progress.finish();
  TRY(ended);
  return kGood;  // Ctrl-C is the usual end
}

}  // namespace

Action watch_command(CommandLine& line) {
  auto options = std::make_shared<WatchArguments>();
  line.describe(
      "Keeps LibTorch warm under Callgrind and counts again, within a second, whatever a saved "
      "file of definitions changes. Ctrl-C ends it.");
  declare_plan(line, options->plan);
  line.group("How to measure");
  declare_measuring(line, options->plan, options->measure);
  line.group("What to show");
  declare_showing(line, options->showing);
  return [options](const Invocation& invocation) { return run_watch(*options, invocation.stop); };
}

}  // namespace instr
