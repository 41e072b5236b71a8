#include "core/run/experiment_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "core/base/environment.h"
#include "core/base/format.h"
#include "core/base/near_match.h"
#include "core/base/output_file.h"
#include "core/base/paths.h"
#include "core/results/results_file.h"
#include "core/run/measured_files.h"
#include "core/run/recorder.h"
#include "core/run/resume.h"
#include "core/run/tools.h"

namespace instr {

namespace {

constexpr const char* kPartEnding = ".jsonl";

// Leaves out what is only known of this machine, for experiments that were measured elsewhere.
RunIdentity without_session(RunIdentity identity) {
  identity.session = {};
  identity.environment = {};
  return identity;
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

// Reads the results so far, and those of experiments that were run one by one.
Expected<EarlierResults> find_earlier(const Task& task, const ExperimentRun& run,
                                      const Resumption& resumption, Progress& progress) {
  TRY_ASSIGN(auto earlier, read_earlier(task.file, resumption));
  if (run.only) return earlier;
  std::size_t taken = 0;
  for (const fs::path& part : list_parts(parts_folder(run.results))) {
    taken += take_in(earlier, part, resumption);
  }
  if (taken != 0) {
    progress.add_line(fmt::format("{} taken from {}", format_plural(taken, "result"),
                                  parts_folder(run.results).string()));
  }
  return earlier;
}

// Compares, of variants that are left out, only what is known without this machine.
FindChange make_find_change(const Task& task, const std::vector<Variant>& left_out,
                            const RunIdentity& identity) {
  return [&identity, apart = without_session(identity), files = std::make_shared<InputHashes>(),
          here = variants_by_key(task.variants),
          elsewhere = variants_by_key(left_out)](const Measurement& measurement) {
    const auto variant = here.find(measurement.variant.key);
    if (variant != here.end()) return find_change(measurement, *variant->second, identity, *files);
    return find_change(measurement, *elsewhere.at(measurement.variant.key), apart, *files);
  };
}

std::vector<Variant> joined(std::vector<Variant> first, const std::vector<Variant>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

Expected<ResultsTarget> open_target(const fs::path& file) {
  TRY_ASSIGN(auto target, ResultsTarget::open(file));
  if (target.is_file()) return target;
  return fail(fmt::format("{}: experiments cannot be kept in a pipe or terminal", file.string()),
              "name a file with --output");
}

}  // namespace

Expected<ExperimentRunResult> measure_experiments(const ExperimentRun& run,
                                                  const RunnableVariants& experiments,
                                                  std::stop_token stop) {
  const auto begin = std::chrono::steady_clock::now();
  Progress progress(run.progress);
  TRY_ASSIGN(const auto task, make_task(run, experiments));
  TRY_ASSIGN(auto target, open_target(task.file));
  TRY(make_folders(run.run.measure));
  Recorder recorder(std::move(target), [&progress](const Error& error) {
    progress.print(STDERR_FILENO, "error: " + to_string(error) + "\n");
  });
  std::optional<RunIdentity> identity;
  const auto complete = [&](Measurement& measurement) {
    measurement.depends_on =
        with_files(list_dependencies(measurement.variant, *identity), measurement);
  };
  TRY_ASSIGN(auto session,
             Session::open(run.run.measure, recording_events(progress, recorder, complete), stop));
  const std::vector<Variant> known = joined(task.variants, experiments.left_out);
  TRY_ASSIGN(identity, make_identity(run.run.measure, *session, known, stop));
  const Resumption resumption{run.run.measure, variants_by_key(known),
                              make_find_change(task, experiments.left_out, *identity)};
  TRY_ASSIGN(auto earlier, find_earlier(task, run, resumption, progress));
  const auto start = [&](const ResultsHeader& header) {
    return run.on_start(header, recorder.in_order_of(known));
  };
  TRY_ASSIGN(const auto rest, resume(task.file, earlier, task.variants,
                                     make_header(run.run, task.variants, identity->session),
                                     progress, recorder, start));
  progress.expect(rest.size());
  progress.show(run.rows, [] {});
  const auto finished = session->experiment(session->admit(rest), stop);
  const bool is_whole = finished && *finished && !stop.stop_requested();
  ExperimentRunResult result{.measurements = recorder.in_order_of(known),
                             .header = recorder.header().value_or(ResultsHeader{})};
  recorder.finish(is_whole,
                  list_strangers(result.measurements,
                                 {is_whole, 0, session->files_read(), session->known_folders()},
                                 recorder.header(), /*is_recorded=*/false));
  if (!finished && !stop.stop_requested()) return fail(finished.error());
  for (const auto& [key, measurement] : earlier.used) result.were_there.insert(key);
  result.could_write = recorder.could_write();
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

Expected<std::set<std::string>> find_measured(const fs::path& results, const MeasureConfig& config,
                                              const std::vector<Variant>& variants,
                                              std::stop_token stop) {
  std::error_code ignored;
  if (!fs::exists(results, ignored)) return std::set<std::string>{};
  TRY_ASSIGN(const auto tools, Tools::find(config, stop));
  RunIdentity identity{
      .config = config, .libtorch = tools->libtorch().version, .environment = own_environment()};
  std::vector<Variant> identified = variants;
  std::erase_if(identified, [](const Variant& variant) {  // this would compile them
    return variant.build && !variant.build->sources.empty();
  });
  TRY_ASSIGN(identity.code, tools->identify(identified, stop));
  TRY_ASSIGN(const auto earlier, read_earlier(results, {config, variants_by_key(variants),
                                                        make_find_change(variants, identity)}));
  std::set<std::string> measured;
  for (const auto& [key, measurement] : earlier.used) measured.insert(key);
  return measured;
}

}  // namespace instr
