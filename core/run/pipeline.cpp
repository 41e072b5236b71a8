#include "core/run/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <thread>

#include "core/base/checkout_guard.h"
#include "core/base/environment.h"
#include "core/base/format.h"
#include "core/base/git.h"
#include "core/base/output_file.h"
#include "core/compile/installation.h"
#include "core/definitions/expand.h"
#include "core/definitions/load.h"
#include "core/definitions/select.h"
#include "core/definitions/tests.h"
#include "core/definitions/torchbench.h"
#include "core/results/results_file.h"
#include "core/run/google_benchmark.h"
#include "core/run/measured_files.h"
#include "core/run/tools.h"

namespace instr {

namespace {

// Names a missing file as the cause of a failure.
void add_cause(Measurement& measurement) {
  auto* failure = std::get_if<Failure>(&measurement.outcome);
  if (failure == nullptr) return;
  if (const auto cause = explain_missing_file(measurement.variant)) {
    failure->message += "\n" + *cause;
  }
}

// Returns the usual backends, and further ones that are requested.
std::vector<Backend> backends_for(const Selection& selection) {
  std::vector<Backend> backends = kUsualBackends;
  for (Backend backend : selection.backends) {
    bool is_known = std::find(backends.begin(), backends.end(), backend) != backends.end();
    if (!is_known) backends.push_back(backend);
  }
  return backends;
}

Error nothing_compiles() {
  return {{},
          "none of the definitions compiles",
          "select a backend of torch.compile(), as with --backend=inductor, or benchmarks with "
          "`compiles = true`, as with --suite=compile"};
}

using Works = std::vector<std::pair<std::string, Work>>;  // keys and their work

// Lists the measurements to come.
Works plan_works(const std::vector<Variant>& variants, const MeasureConfig& config) {
  Works works;
  for (const Variant& variant : variants) {
    if (config.wants_counts) works.emplace_back(variant.key, Work::kCount);
    if (config.wants_times) works.emplace_back(variant.key, Work::kTime);
    if (config.verify && is_candidate(variant)) works.emplace_back(variant.key, Work::kVerify);
  }
  return works;
}

}  // namespace

Expected<void> make_folders(const MeasureConfig& config) {
  if (config.keep_profiles) {
    TRY(make_output_folder(*config.keep_profiles, "name another one with --keep-profiles"));
  }
  if (config.dump.empty()) return {};
  return make_output_folder(config.dump_folder, "name another one with --dump-dir");
}

std::vector<std::filesystem::path> definition_paths(const PlanConfig& config) {
  if (!config.given.empty()) return {};
  if (config.definitions.empty() && !config.torchbench) return {find_installation().definitions};
  std::vector<std::filesystem::path> paths;
  for (const auto& path : config.definitions) paths.push_back(in_measured_tree(path));
  if (config.torchbench) paths.push_back(find_installation().suites / "torchbench.inc");
  return paths;
}

namespace {

// Loads the definitions. The last one, if models of TorchBench are wanted, describes any of them.
tl::expected<Definitions, Errors> load(const PlanConfig& config) {
  if (!config.given.empty()) return Definitions{config.given, {}};
  TRY_ASSIGN(auto definitions, load_definitions(definition_paths(config)));
  if (!config.torchbench) return definitions;
  std::vector<GroupedBenchmark>& all = definitions.benchmarks;
  const GroupedBenchmark any_model = std::move(all.back());
  all.pop_back();
  TRY_ASSIGN(auto models, list_torchbench(any_model, in_measured_tree(*config.torchbench),
                                          config.axes.batch_sizes));
  std::ranges::move(models, std::back_inserter(all));
  return definitions;
}

}  // namespace

tl::expected<std::vector<Variant>, Errors> plan(const PlanConfig& config) {
  if (config.tests) {
    TRY_ASSIGN(auto tests, load_tests(*config.tests));
    return select(std::move(tests), config.selection);
  }
  TRY_ASSIGN(auto definitions, load(config));
  TRY_ASSIGN(definitions.benchmarks, list_google_benchmarks(std::move(definitions.benchmarks)));
  const Declarations& declared = definitions.declarations;
  define_backends({declared.backends.begin(), declared.backends.end()});
  TRY_ASSIGN(const auto settings, find_settings(config.axes.settings, declared));
  TRY(check_parameters(definitions.benchmarks, config.axes));
  ExperimentAxes axes = config.axes;
  axes.has_train_eval =
      std::ranges::find(config.selection.autograds, Autograd::kForwardBackwardEval) !=
      config.selection.autograds.end();
  TRY_ASSIGN(auto all, expand(apply_axes(std::move(definitions.benchmarks), axes, settings),
                              backends_for(config.selection)));
  if (config.axes.only_compiling && all.empty()) return tl::unexpected<Errors>(nothing_compiles());
  TRY_ASSIGN(auto rest, leave_out(std::move(all), config.axes.left_out));
  TRY_ASSIGN(auto selected, select(std::move(rest), config.selection));
  if (config.build) {
    TRY_ASSIGN(auto build, load_build(*config.build));
    for (Variant& variant : selected) variant.build = build;
  }
  if (config.is_reversed) std::reverse(selected.begin(), selected.end());
  return selected;
}

SessionEvents progress_events(Progress& progress) {
  SessionEvents events;
  events.on_phase = [&](const std::string& what) { return progress.begin(what); };
  events.on_measuring = [&](const std::string& what) { progress.measuring(what); };
  events.on_message = [&](const std::string& what) { progress.add_line(what); };
  events.on_start = [&](const std::string& key) { progress.started(key); };
  events.on_step = [&](const std::string& what) { progress.step(what); };
  return events;
}

SessionEvents recording_events(Progress& progress, Recorder& recorder,
                               std::function<void(Measurement&)> complete) {
  SessionEvents events = progress_events(progress);
  events.on_done = [&, complete = std::move(complete)](Measurement measurement) {
    add_cause(measurement);
    if (complete) complete(measurement);
    progress.finished(measurement);
    recorder.take(measurement);
  };
  return events;
}

ResultsHeader make_header(const RunConfig& config, const std::vector<Variant>& variants,
                          Fingerprint fingerprint) {
  if (std::ranges::any_of(variants, is_on_cuda)) {
    fingerprint.entries.emplace_back(kTimedGpu, gpu_models());
  }
  ResultsHeader header = make_results_header(std::move(fingerprint), config.command);
  header.shard = config.shard;
  if (config.definitions.empty()) return header;
  std::set<std::filesystem::path> files(config.definitions.begin(), config.definitions.end());
  for (const Variant& variant : variants) {
    if (variant.build) files.insert(variant.build->sources.begin(), variant.build->sources.end());
  }
  header.commit = Repository().find_commit_with({files.begin(), files.end()}).value_or("");
  return header;
}

Expected<RunIdentity> make_identity(const MeasureConfig& config, Session& session,
                                    const std::vector<Variant>& variants, std::stop_token stop) {
  RunIdentity identity{.config = config,
                       .libtorch = session.libtorch().version,
                       .gpu_model = gpu_models(),
                       .environment = own_environment()};
  TRY_ASSIGN(identity.code, session.identify(variants, stop));
  TRY_ASSIGN(identity.session, session.fingerprint(stop));
  for (const auto& [name, value] : identity.session.machine) {
    if (name == "cpu_model") identity.device_model = value;
  }
  return identity;
}

FindChange make_find_change(const std::vector<Variant>& variants, const RunIdentity& identity) {
  return [&identity, files = std::make_shared<InputHashes>(),
          known = variants_by_key(variants)](const Measurement& measurement) {
    return find_change(measurement, *known.at(measurement.variant.key), identity, *files);
  };
}

namespace {

// Says which earlier results are used, and why others are not. `rest`: the variants to measure, of
// `asked`.
void report_resumed(const EarlierResults& earlier, const std::vector<Variant>& rest,
                    std::size_t asked, Progress& progress) {
  if (rest.size() != asked) {
    progress.add_line(fmt::format("{} of {} are already there", asked - rest.size(), asked));
  }
  std::vector<std::string> changes;
  for (const Variant& variant : rest) {
    const auto change = earlier.changes.find(variant.key);
    if (change != earlier.changes.end()) changes.push_back(change->second);
  }
  if (!changes.empty()) progress.add_line(describe_changes(changes, asked));
  if (const std::size_t others = earlier.changes.size() - changes.size(); others != 0) {
    progress.add_line(fmt::format("{} not shown: it has changed since, and cannot run here",
                                  format_plural(others, "result")));
  }
}

}  // namespace

Expected<std::vector<Variant>> resume(const fs::path& file, const EarlierResults& earlier,
                                      const std::vector<Variant>& variants, ResultsHeader header,
                                      Progress& progress, Recorder& recorder,
                                      const HeaderCheck& check) {
  std::vector<Variant> rest = list_missing(variants, earlier);
  report_resumed(earlier, rest, variants.size(), progress);
  TRY_ASSIGN(header, with_earlier(std::move(header), earlier).map_error([&file](Error error) {
    error.where.file = file.string();
    return error;
  }));
  for (const auto& [key, measurement] : earlier.used) recorder.take(measurement);
  if (check) TRY(check(header));
  recorder.open(header, list_staying(earlier, rest));
  return rest;
}

namespace {

// Opens the session of a run, without LibTorch if it only counts programs.
Expected<std::unique_ptr<Session>> open_session(MeasureConfig config,
                                                const std::vector<Variant>& variants,
                                                SessionEvents events, std::stop_token stop) {
  config.tools.only_programs = is_only_programs(variants);
  return Session::open(config, std::move(events), std::move(stop));
}

// Does what count_all() does for the variants that a results file lacks.
Expected<std::unique_ptr<Session>> go_on(const RunConfig& config,
                                         const std::vector<Variant>& variants, Progress& progress,
                                         Recorder& recorder, std::stop_token stop,
                                         const HeaderCheck& check) {
  struct Known {
    RunIdentity identity;
    Session* session = nullptr;
  };
  const auto known = std::make_shared<Known>();  // the events outlive this call
  const auto complete = [known](Measurement& measurement) {
    measurement.inputs = known->session->list_input_files(measurement);
    measurement.depends_on =
        with_files(list_dependencies(measurement.variant, known->identity), measurement);
  };
  TRY_ASSIGN(auto session, open_session(config.measure, variants,
                                        recording_events(progress, recorder, complete), stop));
  known->session = session.get();
  TRY_ASSIGN(known->identity, make_identity(config.measure, *session, variants, stop));
  TRY_ASSIGN(auto earlier,
             read_earlier(*config.resumed, {config.measure, variants_by_key(variants),
                                            make_find_change(variants, known->identity)}));
  TRY_ASSIGN(const auto rest, resume(*config.resumed, earlier, variants,
                                     make_header(config, variants, known->identity.session),
                                     progress, recorder, check));
  progress.expect(plan_works(rest, config.measure).size());
  TRY(session->count(session->admit(rest), stop));
  return session;
}

}  // namespace

Expected<std::unique_ptr<Session>> count_all(const RunConfig& config,
                                             const std::vector<Variant>& variants,
                                             Progress& progress, Recorder& recorder,
                                             std::stop_token stop, const HeaderCheck& check) {
  TRY(make_folders(config.measure));
  std::stop_source abandon;
  std::stop_callback pass_on(stop, [&abandon] { abandon.request_stop(); });
  if (config.resumed) return go_on(config, variants, progress, recorder, std::move(stop), check);
  TRY_ASSIGN(auto session, open_session(config.measure, variants,
                                        recording_events(progress, recorder), abandon.get_token()));
  const Costs& costs = session->costs();
  double total = 0;
  for (const auto& [key, work] : plan_works(variants, config.measure)) total += costs.of(key, work);
  progress.weigh(costs, total);
  const auto admitted = session->admit(variants);
  // Units compile while the zygotes start; the results file needs a zygote's description of itself.
  Expected<void> introduced;
  std::jthread introduction([&] {
    introduced = session->fingerprint(abandon.get_token()).and_then([&](Fingerprint&& fingerprint) {
      const ResultsHeader header = make_header(config, variants, std::move(fingerprint));
      auto checked = check ? check(header) : Expected<void>{};
      if (checked) recorder.open(header);
      return checked;
    });
    if (!introduced) abandon.request_stop();
  });
  auto finished = session->count(admitted, abandon.get_token());
  introduction.join();
  if (!introduced && !stop.stop_requested()) return fail(introduced.error());
  TRY(finished);
  return session;
}

Expected<MeasureEnd> measure_all(const RunConfig& config, const std::vector<Variant>& variants,
                                 Progress& progress, Recorder& recorder, std::stop_token stop,
                                 const HeaderCheck& check) {
  progress.expect(plan_works(variants, config.measure).size());
  if (variants.empty()) {
    // Nothing is started for an empty shard, so the tools are not known.
    recorder.open(make_header(config, variants, {}));
    return MeasureEnd{true};
  }
  TRY_ASSIGN(auto session, count_all(config, variants, progress, recorder, stop, check));
  if (!Session::time({session.get()}, stop)) return MeasureEnd{};
  TRY_ASSIGN(const bool is_finished, session->inspect(stop));
  return MeasureEnd{is_finished, session->not_dumped(), session->files_read(),
                    session->known_folders()};
}

}  // namespace instr
