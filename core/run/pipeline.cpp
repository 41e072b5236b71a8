#include "core/run/pipeline.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <thread>

#include "core/base/output_folder.h"
#include "core/base/terminal.h"
#include "core/compile/installation.h"
#include "core/definitions/expand.h"
#include "core/definitions/load.h"
#include "core/definitions/read_build.h"
#include "core/definitions/select.h"
#include "core/results/results.h"

namespace instr {

namespace {

SessionEvents events_of(Progress& progress, Recorder& recorder) {
  SessionEvents events = progress_events(progress);
  events.on_done = [&](const Measurement& one) {
    progress.finished(one);
    recorder.take(one);
  };
  return events;
}

// The usual ones, and those beyond them that are asked for.
std::vector<Runtime> runtimes_for(const Selection& selection) {
  std::vector<Runtime> runtimes = kUsualRuntimes;
  for (Runtime runtime : selection.runtimes) {
    bool is_there = std::find(runtimes.begin(), runtimes.end(), runtime) != runtimes.end();
    if (!is_there) runtimes.push_back(runtime);
  }
  return runtimes;
}

// What is written beside the results, at the end of a measurement or of all.
Expected<void> make_folders(const Options& options) {
  Expected<void> made;
  if (options.keep_profiles) {
    made = make_output_folder(*options.keep_profiles, "name another one with --keep-profiles");
  }
  if (made && options.dump.any()) {
    made = make_output_folder(options.dump_folder, "name another one with --dump-folder");
  }
  return made;
}

}  // namespace

std::vector<std::filesystem::path> definition_paths(const Options& options) {
  if (!options.definitions.empty()) return options.definitions;
  return {find_installation().definitions};
}

tl::expected<std::vector<Variant>, Errors> plan(const Options& options) {
  auto definitions = load_definitions(definition_paths(options));
  if (!definitions) return tl::unexpected(definitions.error());
  auto variants =
      expand(with_axes(*std::move(definitions), options.axes), runtimes_for(options.selection));
  if (!variants) return variants;
  auto wanted = select(std::move(*variants), options.selection);
  if (!wanted) return tl::unexpected(Errors{wanted.error()});
  if (options.build) {
    auto build = load_build(*options.build);
    if (!build) return tl::unexpected(build.error());
    for (Variant& variant : *wanted) variant.build = *build;
  }
  if (options.reverse_order) std::reverse(wanted->begin(), wanted->end());
  return std::move(*wanted);
}

ProgressOptions progress_options(const Options& options) {
  return {STDERR_FILENO, inspect_terminal(STDERR_FILENO, options.color), options.verbosity};
}

SessionEvents progress_events(Progress& progress) {
  SessionEvents events;
  events.on_phase = [&](const std::string& what) { progress.phase(what); };
  events.on_note = [&](const std::string& what) { progress.note(what); };
  events.on_start = [&](const std::string& key) { progress.started(key); };
  return events;
}

ReportOptions report_options(const Options& options) {
  Terminal terminal = inspect_terminal(STDOUT_FILENO, options.color);
  ReportOptions report;
  report.width = terminal.width;
  report.color = terminal.color;
  report.show_keys = options.show_keys;
  if (!options.metrics.empty()) report.metrics = options.metrics;
  return report;
}

Expected<Session> count_all(const Options& options, const std::vector<std::string>& command,
                            const std::vector<Variant>& variants, Progress& progress,
                            Recorder& recorder, std::stop_token stop, const HeaderCheck& check) {
  if (auto made = make_folders(options); !made) return tl::unexpected(made.error());
  std::stop_source abandon;
  std::stop_callback pass_on(stop, [&abandon] { abandon.request_stop(); });
  auto session = Session::open(options, events_of(progress, recorder), abandon.get_token());
  if (!session) return session;
  progress.phase("starting LibTorch under Valgrind");
  session->prepare(variants);
  // Units compile while the zygotes start; the results file needs what a zygote says of itself.
  Expected<void> introduced;
  std::jthread introduction([&] {
    introduced = session->fingerprint(abandon.get_token()).and_then([&](Fingerprint&& found) {
      ResultsHeader header = make_results_header(std::move(found), command);
      header.shard = options.selection.shard;
      auto checked = check ? check(header) : Expected<void>{};
      if (checked) recorder.open(header);
      return checked;
    });
    if (!introduced) abandon.request_stop();
  });
  auto finished = session->count(variants, abandon.get_token());
  introduction.join();
  if (!introduced && !stop.stop_requested()) return tl::unexpected(introduced.error());
  if (!finished) return tl::unexpected(finished.error());
  return session;
}

Expected<bool> measure_all(const Options& options, const std::vector<std::string>& command,
                           const std::vector<Variant>& variants, Progress& progress,
                           Recorder& recorder, std::stop_token stop, const HeaderCheck& check) {
  if (variants.empty()) {
    // A shard may be: nothing is started for it, so nothing is known of what it would be measured
    // with.
    ResultsHeader header = make_results_header({}, command);
    header.shard = options.selection.shard;
    recorder.open(header);
    return true;
  }
  auto session = count_all(options, command, variants, progress, recorder, stop, check);
  if (!session) return tl::unexpected(session.error());
  if (!Session::time({&*session}, stop)) return false;
  return session->inspect(stop);
}

}  // namespace instr
