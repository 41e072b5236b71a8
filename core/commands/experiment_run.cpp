#include "core/commands/experiment_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <optional>

#include "core/engine/pipeline.h"
#include "core/results/experiment_log.h"
#include "core/results/results.h"

namespace instr {

namespace {

std::string entry_of(const Fingerprint::Entries& entries, const std::string& name) {
  for (const auto& [known, value] : entries) {
    if (known == name) return value;
  }
  return "";
}

Expected<ExperimentSetting> setting_of(const MeasureConfig& config, Session& session,
                                       std::stop_token stop) {
  return session.fingerprint(stop).map([&](const Fingerprint& found) {
    return ExperimentSetting{config.repetitions, config.iterations, session.libtorch().version,
                             entry_of(found.machine, "cpu_model")};
  });
}

}  // namespace

Expected<Ran> measure_experiments(const MeasureConfig& config, const std::filesystem::path& file,
                                  const std::vector<Variant>& variants, const Showing& showing,
                                  std::stop_token stop) {
  auto begin = std::chrono::steady_clock::now();
  Progress progress(progress_options(showing));
  std::optional<ExperimentLog> log;
  std::optional<ExperimentSetting> setting;
  SessionEvents events = progress_events(progress);
  events.on_done = [&](const Measurement& measurement) {
    ExperimentRecord record = record_of(measurement, *setting);
    record.timestamp = utc_now();
    record.experiments = variants.size();
    const bool could_write = log->unwritten() == 0;
    auto written = log->append(std::move(record));
    if (!written && could_write) {
      progress.print(STDERR_FILENO, "error: " + to_string(written.error()) + "\n");
    }
    progress.finished(measurement);
  };
  if (auto writable = ExperimentLog::check(file); !writable) {
    return tl::unexpected(writable.error());
  }
  auto session = Session::open(config, events, stop);
  if (!session) return tl::unexpected(session.error());
  auto found = setting_of(config, *session, stop);
  if (!found) return tl::unexpected(found.error());
  setting = *found;
  auto opened = ExperimentLog::open(file, variants, *setting);
  if (!opened) return tl::unexpected(opened.error());
  log = std::move(*opened);
  const std::size_t were_there = log->records().size();
  auto rest = log->missing(variants);
  if (rest.size() != variants.size()) {
    progress.note(
        fmt::format("{} of {} are already there", variants.size() - rest.size(), variants.size()));
  }
  progress.expect(rest.size());
  auto finished = session->experiment(rest, stop);
  const std::size_t unwritten = log->finish() ? 0 : log->unwritten();
  if (!finished && !stop.stop_requested()) return tl::unexpected(finished.error());
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return Ran{log->records(), were_there, took.count(), unwritten};
}

}  // namespace instr
