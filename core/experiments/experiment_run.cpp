#include "core/experiments/experiment_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>

#include "core/base/environment.h"
#include "core/base/file_name.h"
#include "core/base/format.h"
#include "core/base/near_match.h"
#include "core/base/output.h"
#include "core/base/output_file.h"
#include "core/base/read_file.h"
#include "core/base/replace_file.h"
#include "core/experiments/experiment_file.h"
#include "core/experiments/experiment_identity.h"
#include "core/experiments/experiment_summary.h"
#include "core/report/formats.h"
#include "core/report/plot.h"
#include "core/results/results_file.h"
#include "core/run/make_fingerprint.h"
#include "core/run/pipeline.h"
#include "core/run/tools.h"

namespace instr {

namespace {

constexpr const char* kPartEnding = ".jsonl";

// Describes a session for these variants.
Expected<RunIdentity> make_identity(const MeasureConfig& config, Session& session,
                                    const std::vector<Variant>& variants, std::stop_token stop) {
  RunIdentity identity{.config = config, .environment = own_environment()};
  TRY_ASSIGN(identity.code, session.identify(variants, stop));
  TRY_ASSIGN(identity.session, session.fingerprint(stop));
  identity.setting = {config.repetitions, config.iterations, session.libtorch().version, ""};
  for (const auto& [name, value] : identity.session.machine) {
    if (name == "cpu_model") identity.setting.device_model = value;
  }
  identity.setting.gpu_model = gpu_models();
  return identity;
}

// Leaves out what is only known of this machine, for experiments that were measured elsewhere.
RunIdentity without_session(RunIdentity identity) {
  identity.session = {};
  identity.environment = {};
  return identity;
}

using VariantsByKey = std::map<std::string, const Variant*>;

VariantsByKey variants_by_key(const std::vector<Variant>& variants) {
  VariantsByKey by_key;
  for (const Variant& variant : variants) by_key.emplace(variant.key, &variant);
  return by_key;
}

// Returns the folder for results of experiments that are run one by one.
fs::path parts_folder(const fs::path& results) {
  return fs::path(results).replace_extension("parts");
}

std::vector<fs::path> list_parts(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().extension() == kPartEnding) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// The variants to run, and the file for their results.
struct Task {
  std::vector<Variant> variants;
  fs::path file;
};

Expected<Task> make_task(const ExperimentRun& run, const RunnableVariants& experiments) {
  if (!run.only) return Task{experiments.runnable, run.results};
  for (std::size_t i = 0; i < experiments.left_out.size(); ++i) {
    if (experiments.left_out[i].key != *run.only) continue;
    const Error& reason = experiments.reasons[i];
    return fail(fmt::format("--only: `{}` cannot run here: {}", *run.only, reason.what),
                reason.advice);
  }
  std::vector<std::string> keys;
  for (const Variant& variant : experiments.runnable) {
    if (variant.key == *run.only) {
      const fs::path folder = parts_folder(run.results);
      const fs::path file = folder / (make_file_name(variant.key) + kPartEnding);
      TRY(make_output_folder(folder, "name another place with --output or --output-dir"));
      return Task{{variant}, file};
    }
    keys.push_back(variant.key);
  }
  return fail(fmt::format("--only: `{}` is not one of the experiments", *run.only),
              did_you_mean(*run.only, keys));
}

// Opens the file, and takes in experiments that were run one by one.
Expected<ExperimentLog> open_log(const ExperimentRun& run, const Task& task,
                                 const std::vector<Variant>& left_out, const RunIdentity& identity,
                                 Progress& progress) {
  std::vector<Variant> known = task.variants;
  known.insert(known.end(), left_out.begin(), left_out.end());
  InputHashes files;
  const auto find_here = [&, here = variants_by_key(task.variants),
                          elsewhere = variants_by_key(left_out),
                          apart = without_session(identity)](const ExperimentRecord& record) {
    const auto variant = here.find(record.variant.key);
    return variant != here.end()
               ? find_change(record, *variant->second, identity, files)
               : find_change(record, *elsewhere.at(record.variant.key), apart, files);
  };
  auto log = ExperimentLog::open(task.file, known, find_here);
  if (!log || run.only) return log;
  const std::size_t before = log->records().size();
  for (const fs::path& part : list_parts(parts_folder(run.results))) {
    TRY(log->take_in(part, known, find_here));
  }
  if (const std::size_t taken = log->records().size() - before; taken != 0) {
    progress.note(fmt::format("{} taken from {}", format_plural(taken, "result"),
                              parts_folder(run.results).string()));
  }
  return log;
}

// Says which results are used, and why others are not.
void report_resumed(const ExperimentLog& log, const std::vector<Variant>& rest, std::size_t asked,
                    Progress& progress) {
  if (rest.size() != asked) {
    progress.note(fmt::format("{} of {} are already there", asked - rest.size(), asked));
  }
  std::vector<std::string> changes;
  for (const Variant& variant : rest) {
    const auto change = log.changes().find(variant.key);
    if (change != log.changes().end()) changes.push_back(change->second);
  }
  if (!changes.empty()) progress.note(describe_changes(changes, asked));
  if (const std::size_t others = log.changes().size() - changes.size(); others != 0) {
    progress.note(fmt::format("{} not shown: it has changed since, and cannot run here",
                              format_plural(others, "result")));
  }
}

void add(ExperimentRecord record, ExperimentLog& log, Progress& progress) {
  record.timestamp = utc_now();
  const bool could_write = log.unwritten() == 0;
  auto written = log.append(std::move(record));
  if (written || !could_write) return;
  progress.print(STDERR_FILENO, "error: " + to_string(written.error()) + "\n");
}

}  // namespace

Expected<ExperimentRunResult> measure_experiments(const ExperimentRun& run,
                                                  const RunnableVariants& experiments,
                                                  std::stop_token stop) {
  auto begin = std::chrono::steady_clock::now();
  Progress progress(run.progress);
  std::optional<ExperimentLog> log;
  std::optional<RunIdentity> identity;
  std::size_t lines = experiments.runnable.size();
  SessionEvents events = progress_events(progress);
  events.on_done = [&](const Measurement& measurement) {
    ExperimentRecord record = record_of(measurement, identity->setting);
    record.fingerprint = with_files(identify(measurement.variant, *identity), measurement);
    if (record.compiler && !run.collects_counters) record.compiler->counters.clear();
    record.experiments = lines;
    add(std::move(record), *log, progress);
    progress.finished(measurement);
  };
  TRY_ASSIGN(auto task, make_task(run, experiments));
  TRY(ExperimentLog::check(task.file));
  TRY(make_folders(run.measure));
  TRY_ASSIGN(auto session, Session::open(run.measure, events, stop));
  std::vector<Variant> known = task.variants;
  known.insert(known.end(), experiments.left_out.begin(), experiments.left_out.end());
  TRY_ASSIGN(identity, make_identity(run.measure, *session, known, stop));
  TRY_ASSIGN(log, open_log(run, task, experiments.left_out, *identity, progress));
  const std::size_t were_there = log->records().size();
  auto rest = log->missing(task.variants);
  report_resumed(*log, rest, task.variants.size(), progress);
  if (!run.only) lines = log->lines() + rest.size();
  progress.expect(rest.size());
  auto finished = session->experiment(session->admit(rest), stop);
  auto kept = log->finish();
  if (!finished && !stop.stop_requested()) return fail(finished.error());
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return ExperimentRunResult{log->records(), were_there, took.count(), log->unwritten(),
                             std::move(kept)};
}

Expected<std::set<std::string>> find_measured(const fs::path& results, const MeasureConfig& config,
                                              const std::vector<Variant>& variants,
                                              std::stop_token stop) {
  std::error_code ignored;
  if (!fs::exists(results, ignored)) return std::set<std::string>{};
  TRY_ASSIGN(const auto text, read_file(results, kMaxResultsBytes));
  TRY_ASSIGN(const auto records, parse_experiments(text, results.string()));
  TRY_ASSIGN(const auto tools, Tools::find(config, stop));
  RunIdentity identity{.config = config, .environment = own_environment()};
  identity.setting = {config.repetitions, config.iterations, tools->libtorch().version, ""};
  std::vector<Variant> identified = variants;
  std::erase_if(identified, [](const Variant& variant) {  // this would compile them
    return variant.build && !variant.build->sources.empty();
  });
  TRY_ASSIGN(identity.code, tools->identify(identified, stop));
  InputHashes files;
  const VariantsByKey known = variants_by_key(variants);
  std::set<std::string> measured;
  for (const ExperimentRecord& record : records) {
    const auto variant = known.find(record.variant.key);
    if (variant == known.end() || !is_final(record)) continue;
    if (find_change(record, *variant->second, identity, files).empty()) {
      measured.insert(record.variant.key);
    }
  }
  return measured;
}

std::string explain_missing_pictures() {
  const auto gnuplot = find_gnuplot();
  return gnuplot ? "" : "there will be no pictures: " + to_string(gnuplot.error()) + "\n";
}

Expected<void> write_experiment_folder(const fs::path& folder,
                                       const std::vector<ExperimentRecord>& records,
                                       std::stop_token stop) {
  const Document document = experiment_document(records, /*shows_each=*/false);
  for (const auto& [format, name] :
       {std::pair{ReportFormat::kTable, "summary.txt"}, {ReportFormat::kMarkdown, "summary.md"}}) {
    TRY(replace_file(folder / name, render(format, document)));
  }
  if (!find_gnuplot()) return {};  // reported before the run
  std::vector<Measurement> measurements;
  for (const ExperimentRecord& record : records) measurements.push_back(measurement_of(record));
  for (const auto& [kind, chart] : make_charts(measurements, kWall)) {
    const std::string name = to_string(kind);
    if (!chart) {
      print_message(fmt::format("no {0}.svg: {1}: see instr_bench plot {2} --kind={0}\n", name,
                                chart.error().what, (folder / "results.jsonl").string()));
      continue;
    }
    const auto drawn = draw_svg(*chart, stop);
    if (stop.stop_requested()) return {};
    if (!drawn) {  // the next ones would fail in the same way
      print_message("no pictures: " + to_string(drawn.error()) + "\n");
      return {};
    }
    TRY(replace_file(folder / (name + ".svg"), *drawn));
  }
  return {};
}

}  // namespace instr
