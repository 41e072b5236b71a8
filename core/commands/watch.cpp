#include "core/run/watch.h"

#include <unistd.h>

#include "core/base/terminal.h"
#include "core/commands/commands.h"
#include "core/run/pipeline.h"

namespace instr {

ExitStatus watch_command(const Options& options, std::stop_token interrupted) {
  // There is nothing to watch for once nobody reads what it says.
  std::stop_source ending;
  std::stop_callback pass_on(interrupted, [&ending] { ending.request_stop(); });
  std::stop_token stop = ending.get_token();
  bool color = inspect_terminal(STDOUT_FILENO, options.color).color;
  Progress progress(progress_options(options));
  WatchLines lines;
  SessionEvents events = progress_events(progress);
  events.on_done = [&](const Measurement& one) {
    progress.finished(one);
    if (!progress.print(STDOUT_FILENO, lines.next(one, color))) ending.request_stop();
  };
  auto session = Session::open(options, events, stop);
  if (!session) return refuse(session.error());
  progress.phase("starting LibTorch under Valgrind");
  auto ended = watch(
      definition_paths(options), [&] { return plan(options); }, *session,
      [&](const std::string& text) {
        progress.phase("");
        progress.print(STDERR_FILENO, text);
      },
      stop);
  progress.finish();
  if (!ended) return refuse(ended.error());
  return kGood;  // Ctrl-C is how one leaves it
}

}  // namespace instr
