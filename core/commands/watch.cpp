#include <unistd.h>

#include <memory>

#include "core/base/terminal.h"
#include "core/cli/measuring.h"
#include "core/cli/selecting.h"
#include "core/commands/commands.h"
#include "core/commands/watch_files.h"
#include "core/engine/pipeline.h"

namespace instr {

namespace {

struct WatchArguments {
  PlanConfig plan;
  MeasureConfig measure;
  Showing showing;
};

ExitStatus run_watch(const WatchArguments& options, std::stop_token interrupted) {
  // There is no point in watching once nobody reads the output.
  std::stop_source ending;
  std::stop_callback pass_on(interrupted, [&ending] { ending.request_stop(); });
  std::stop_token stop = ending.get_token();
  bool color = inspect_terminal(STDOUT_FILENO, options.showing.color).color;
  Progress progress(progress_options(options.showing));
  WatchLines lines;
  SessionEvents events = progress_events(progress);
  events.on_done = [&](const Measurement& one) {
    progress.finished(one);
    if (!progress.print(STDOUT_FILENO, lines.next(one, color))) ending.request_stop();
  };
  auto session = Session::open(options.measure, events, stop);
  if (!session) return refuse(session.error());
  auto ended = watch(
      definition_paths(options.plan), [&] { return plan(options.plan); }, *session,
      [&](const std::string& text) {
        progress.phase("");
        progress.print(STDERR_FILENO, text);
      },
      stop);
  progress.finish();
  if (!ended) return refuse(ended.error());
  return kGood;  // Ctrl-C is how one leaves it
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
