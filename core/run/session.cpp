#include "core/run/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <iterator>
#include <mutex>
#include <set>
#include <utility>

#include "core/base/environment.h"
#include "core/base/private_folder.h"
#include "core/base/process.h"
#include "core/base/trim.h"
#include "core/compile/compiled_variant.h"
#include "core/compile/cpp/compile_cpp.h"
#include "core/compile/installation.h"
#include "core/compile/python/compile_python.h"
#include "core/definitions/axes.h"
#include "core/definitions/requirement.h"
#include "core/measure/experimenter.h"
#include "core/measure/measure.h"
#include "core/measure/pinned_environment.h"
#include "core/measure/schedule_plan.h"
#include "core/measure/timer.h"
#include "core/measure/verifier.h"
#include "core/run/make_fingerprint.h"

namespace instr {

namespace {

// Beyond this, old artefacts are removed; the precompiled headers of two compilers and two LibTorch
// builds fit.
constexpr std::uint64_t kCacheLimit = 4'000'000'000;

constexpr const char* kCosts = "costs";  // a file of the cache

bool is_in_python(const Variant& variant) { return variant.language == Language::kPython; }

const Variant& variant_of(const Variant& variant) { return variant; }
const Variant& variant_of(const CompiledVariant& compiled) { return compiled.variant; }

// Those of Variants or CompiledVariants.
template <class T>
std::vector<T> in_language(const std::vector<T>& all, Language language) {
  std::vector<T> its;
  std::copy_if(all.begin(), all.end(), std::back_inserter(its),
               [&](const T& one) { return variant_of(one).language == language; });
  return its;
}

// What takes seconds to import, and is the same for all that need it: as in WorkerOptions. A
// package's module mostly has its name.
std::set<std::string> imported_by(const std::vector<Variant>& variants) {
  std::set<std::string> imports;
  for (const Variant& variant : variants) {
    if (!is_in_python(variant)) continue;
    if (is_compiled(variant.backend)) imports.insert(to_string(WarmUp::kCompiler));
    for (const std::string& text : variant.packages) {
      std::string module = parse_package(text).value_or(PackageRequirement{}).name;
      std::replace(module.begin(), module.end(), '-', '_');
      if (!module.empty()) imports.insert(module);
    }
  }
  return imports;
}

bool is_countable(const Variant& variant) {
  return variant.device != "cuda" && facts_of(variant.backend).packages == nullptr;
}

// What determines whether a variant can be measured.
struct Means {
  const LibTorch& libtorch;
  const std::optional<Expected<Python>>& python;  // there if something is in Python
  bool wants_times;
};

}  // namespace

struct Session::State {
  MeasureConfig config;
  SessionEvents events;
  std::mutex turn;               // one event at a time
  std::set<std::string> failed;  // keys
  std::set<std::string> skipped;
  Costs costs;
  LibTorch libtorch;
  Toolchain toolchain;
  std::optional<Expected<Python>> python;  // there once something is in Python
  std::set<std::string> imports;           // of the native worker for it
  std::string valgrind;
  std::optional<Cache> cache;
  CompileOptions compile;
  std::stop_source building;  // ends the build of the worker
  // The worker that counts in C++, if something is to be counted: it is built while LibTorch's
  // headers are precompiled.
  std::shared_future<Expected<std::filesystem::path>> counting_worker;
  // Compiled variants that remain to be timed.
  std::vector<CompiledVariant> to_time;
  std::vector<CompiledVariant> to_dump;
  std::vector<Variant> to_verify;
  std::size_t not_dumped = 0;
  // Last: destroyed first, before the members they use.
  std::unique_ptr<Scheduler> scheduler;         // if something is to be counted
  std::unique_ptr<NativeWorker> native;         // if something is to be timed or verified
  std::unique_ptr<NativeWorker> python_native;  // once something in Python is

  ~State() { building.request_stop(); }
  void build_counting_worker(std::stop_token stop);
  Expected<std::filesystem::path> find_worker(Language language, std::stop_token stop);
  Expected<void> open_scheduler(std::stop_token stop);
  Expected<void> open_native(std::stop_token stop);
  Expected<bool> verify(const std::vector<Variant>& candidates, std::stop_token stop);
  void take(UnitResult unit, const Selected& selected);
  std::vector<TimedSide> sides(std::vector<CompiledVariant> variants, std::stop_token stop);
  Expected<NativeLanguage> natively(Language language, std::stop_token stop);
  template <class Run>
  Expected<bool> by_language(const std::vector<Variant>& variants, std::stop_token stop,
                             const Run& run);
  Expected<CompiledVariants> compile_all_python(const std::vector<Variant>& variants,
                                                Purpose purpose, std::stop_token stop);
  Expected<bool> dump(const std::vector<CompiledVariant>& variants, std::stop_token stop);
  tl::expected<wire::Message, std::string> inspect_one(const CompiledVariant& one,
                                                       NativeWorker& worker) const;
  TimerOptions timer_options() const;
  std::vector<Variant> skip_unsupported(const std::vector<Variant>& variants);
  Means means() const;
  void look_for_python(const std::vector<Variant>& variants);
  void compile_python_variants(const std::vector<Variant>& variants,
                               const std::function<void(UnitResult)>& on_unit,
                               std::stop_token stop);

  NativeEvents native_events() {
    return {[this](const std::string& key) { started(key); },
            [this](const Measurement& measurement) { done(measurement); }};
  }

  // After everything is measured.
  void tidy() {
    costs.write(cache->folder() / kCosts);
    cache->trim(kCacheLimit);
  }

  void phase(const std::string& what) {
    std::lock_guard lock(turn);
    if (events.on_phase) events.on_phase(what);
  }
  void measuring(const std::string& what) {
    std::lock_guard lock(turn);
    if (events.on_measuring) events.on_measuring(what);
  }
  void note(const std::string& what) {
    std::lock_guard lock(turn);
    if (events.on_note) events.on_note(what);
  }
  void started(const std::string& key) {
    std::lock_guard lock(turn);
    if (events.on_start) events.on_start(key);
  }
  void done(const Measurement& measurement) {
    std::lock_guard lock(turn);
    if (std::holds_alternative<Failure>(measurement.outcome))
      failed.insert(measurement.variant.key);
    if (std::holds_alternative<Skipped>(measurement.outcome))
      skipped.insert(measurement.variant.key);
    costs.note(measurement);
    if (events.on_done) events.on_done(measurement);
  }
};

Expected<std::string> find_valgrind() {
  const char* advice = "install it: apt-get install valgrind";
  if (!find_program("valgrind")) return fail("Valgrind was not found", advice);
  SpawnOptions ask;
  ask.argv = {"valgrind", "--version"};
  TRY_ASSIGN(auto result, run_command(ask));
  if (result.exit_code != 0) return fail("Valgrind does not run: " + result.errors, advice);
  return std::string(trim_end(result.output, "\n"));
}

// Where it would have to run.
std::optional<std::string> unusable_device(const Variant& variant, const Means& means) {
  if (is_countable(variant)) return std::nullopt;
  const BackendFacts& backend = facts_of(variant.backend);
  const LibTorch& libtorch = means.libtorch;
  if (variant.device != "cuda") {
    if (means.wants_times) return std::nullopt;
    return fmt::format("the backend {} is not counted: --metrics=wall times it", backend.name);
  }
  if (!libtorch.has_cuda) return "this LibTorch is built without CUDA";
  if (backend.cuda_header != nullptr && !libtorch.cuda_headers) {
    return fmt::format(
        "the backend {} needs the headers of CUDA's toolkit: name its folder by "
        "CUDA_HOME",
        backend.name);
  }
  if (!means.wants_times)
    return "instructions are counted on the CPU only: --metrics=wall times it";
  return std::nullopt;
}

std::optional<std::string> unsupported_reason(const Variant& variant, const Means& means) {
  const auto& [libtorch, python, wants_times] = means;
  if (is_in_python(variant) && !*python) return to_string(python->error());
  if (variant.libtorch) {
    auto met = satisfies(libtorch.version, *variant.libtorch);
    if (!met) return to_string(met.error());
    if (!*met) return "needs LibTorch " + *variant.libtorch + ", this is " + libtorch.version;
  }
  const BackendFacts& backend = facts_of(variant.backend);
  if (backend.libtorch != nullptr &&
      !satisfies(libtorch.version, backend.libtorch).value_or(true)) {
    return fmt::format("the backend {} needs LibTorch {}, this is {}", backend.name,
                       backend.libtorch, libtorch.version);
  }
  if (is_in_python(variant)) {
    if (auto lacking = lacking_package(**python, packages_of(variant.backend))) {
      return fmt::format("the backend {} {}", backend.name, *lacking);
    }
    if (auto lacking = lacking_package(**python, variant.packages)) return lacking;
  }
  const bool is_made_before =
      backend.body == Body::kPackage || backend.body == Body::kCapturedScript;
  if (is_made_before && is_autocast(variant)) {
    return fmt::format("the backend {} runs what was made without autocast", backend.name);
  }
  return unusable_device(variant, means);
}

namespace {

CompileOptions compile_options(const MeasureConfig& config, const Toolchain& toolchain,
                               const LibTorch& libtorch) {
  const int cores = static_cast<int>(std::ssize(usable_cores()));
  return {.toolchain = toolchain,
          .libtorch = libtorch,
          .jobs = config.tools.jobs > 0 ? config.tools.jobs : cores,
          .sources = find_installation().sources,
          .each_alone = config.simulation.any(),
          .line_numbers = config.wants_lines};
}

}  // namespace

Expected<std::vector<PlannedVariant>> plan_run(const MeasureConfig& config,
                                               const std::vector<Variant>& variants) {
  TRY_ASSIGN(auto libtorch, find_libtorch(config.tools.libtorch));
  TRY_ASSIGN(auto toolchain, find_toolchain(config.tools.compiler, libtorch));
  TRY_ASSIGN(auto cache, Cache::open(!config.tools.no_cache));
  const CompileOptions compile = compile_options(config, toolchain, libtorch);
  const auto in_cpp = in_language(variants, Language::kCpp);
  TRY_ASSIGN(auto compiled, find_compiled(in_cpp, compile, cache));
  std::optional<Expected<Python>> python;
  if (in_cpp.size() != variants.size()) {
    python = find_python(config.tools.python, libtorch, compile.sources);
  }
  const Means means{libtorch, python, config.wants_times};
  std::vector<PlannedVariant> planned;
  for (const auto& variant : variants) {
    auto reason = unsupported_reason(variant, means);
    bool is_unknown = variant.build && !variant.build->sources.empty();
    auto step = reason                           ? PlannedStep::kSkip
                : compiled.contains(variant.key) ? PlannedStep::kCached
                : is_unknown                     ? PlannedStep::kUnknown
                                                 : PlannedStep::kCompile;
    planned.push_back({variant, step, reason.value_or("")});
  }
  return planned;
}

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::Session(Session&&) noexcept = default;
Session::~Session() = default;

const LibTorch& Session::libtorch() const { return state_->libtorch; }
const Costs& Session::costs() const { return state_->costs; }
const Toolchain& Session::toolchain() const { return state_->toolchain; }
Expected<std::filesystem::path> Session::worker() const { return state_->counting_worker.get(); }
std::size_t Session::not_dumped() const { return state_->not_dumped; }

Expected<Session> Session::open(const MeasureConfig& config, SessionEvents events,
                                std::stop_token stop) {
  auto state = std::make_unique<State>();
  State* raw = state.get();
  state->events = std::move(events);
  state->config = config;
  TRY(check_events(config.events));
  if (config.wants_counts) {
    TRY_ASSIGN(state->valgrind, find_valgrind());
  }
  TRY_ASSIGN(auto libtorch, find_libtorch(config.tools.libtorch));
  state->libtorch = libtorch;
  TRY_ASSIGN(auto toolchain, find_toolchain(config.tools.compiler, state->libtorch));
  state->toolchain = toolchain;
  TRY_ASSIGN(auto cache, Cache::open(!config.tools.no_cache,
                                     {stop, [raw](const std::string& why) { raw->note(why); }}));
  state->cache = std::move(cache);
  if (state->cache->note()) state->note(*state->cache->note());
  state->costs = Costs::read(state->cache->folder() / kCosts);

  state->compile = compile_options(config, state->toolchain, state->libtorch);
  state->compile.on_phase = [raw](const std::string& what) { raw->phase(what); };
  state->phase("preparing the worker for LibTorch " + state->libtorch.version);
  TRY(state->open_scheduler(stop).and_then([&] { return state->open_native(stop); }));
  return Session(std::move(state));
}

Expected<void> Session::State::open_scheduler(std::stop_token stop) {
  if (!config.wants_counts) return {};
  ScheduleOptions schedule;
  schedule.jobs = compile.jobs;
  if (cpu_class() == CpuClass::kPlain) {
    note(
        "this machine has no AVX2: LibTorch's plain code is counted, and cannot be compared with "
        "counts of machines that have it");
  }
  build_counting_worker(stop);
  schedule.find_worker = [this, stop](Language language) { return find_worker(language, stop); };
  schedule.expected = [known = costs](const Variant& variant) {
    return known.of(variant.key, Work::kCount);
  };
  if (config.timeout) schedule.timeout_s = *config.timeout;
  schedule.retries = config.retries;
  schedule.fresh_process = config.isolation == Isolation::kProcess;
  schedule.churn = config.churn;
  schedule.is_warm = config.is_warm;
  schedule.note = [this](const std::string& what) { note(what); };
  schedule.simulation = config.simulation;
  schedule.call_paths = config.call_paths;
  schedule.want_lines = config.wants_lines;
  schedule.want_functions = config.wants_functions;
  schedule.follow_calls = config.follows_calls;
  schedule.keep_profiles = config.keep_profiles;
  return Scheduler::start(
             schedule, [this](const std::string& key) { started(key); },
             [this](const Measurement& measurement) { done(measurement); })
      .map([this](std::unique_ptr<Scheduler>&& started) { scheduler = std::move(started); });
}

// Leaves one job for the precompiled header.
void Session::State::build_counting_worker(std::stop_token stop) {
  CompileOptions options = compile;
  options.jobs = std::max(compile.jobs - 1, 1);
  counting_worker = std::async(std::launch::async, [this, options, stop] {
    std::stop_callback pass_on(stop, [this] { building.request_stop(); });
    auto built =
        build_worker(WorkerKind::kCounting, options.sources, options, *cache, building.get_token());
    if (built) phase("starting LibTorch under Valgrind");
    return built;
  });
}

Expected<std::filesystem::path> Session::State::find_worker(Language language,
                                                            std::stop_token stop) {
  if (language == Language::kCpp) return counting_worker.get();
  if (!*python) return tl::unexpected(python->error());
  return build_python_worker(WorkerKind::kPython, **python, compile, *cache, stop);
}

Expected<void> Session::State::open_native(std::stop_token stop) {
  if (!config.wants_times && !config.verify && config.dump.empty()) return {};
  if (counting_worker.valid())
    counting_worker.wait();  // two builds at once would use more cores than allowed
  TRY_ASSIGN(auto program,
             build_worker(WorkerKind::kNative, compile.sources, compile, *cache, stop));
  return NativeWorker::start(program).map(
      [this](std::unique_ptr<NativeWorker>&& started) { native = std::move(started); });
}

void Session::prepare(const std::vector<Variant>& variants) {
  state_->look_for_python(variants);
  if (!state_->scheduler) return;
  std::vector<Variant> countable;
  for (const auto& variant : variants) {
    bool is_selected = !unsupported_reason(variant, state_->means());
    if (is_selected && is_countable(variant)) countable.push_back(variant);
  }
  state_->scheduler->prepare(countable);
}

Expected<Fingerprint> Session::fingerprint(std::stop_token stop) {
  TRY_ASSIGN(auto hello, state_->scheduler ? state_->scheduler->hello(stop)
                                           : Expected<wire::Message>(state_->native->hello()));
  if (state_->config.wants_times) hello.fields.merge(std::map(state_->native->hello().fields));
  if (const auto& python = state_->python; python && *python) {
    hello.fields["python"] = (*python)->build;
  }
  return make_fingerprint(state_->libtorch, state_->toolchain, state_->valgrind, hello.fields);
}

Expected<NativeLanguage> Session::State::natively(Language language, std::stop_token stop) {
  if (language == Language::kCpp) {
    return NativeLanguage{
        [this](const std::vector<Variant>& variants, Purpose purpose, std::stop_token ended) {
          CompileOptions options = compile;
          options.purpose = purpose;
          options.each_alone = false;
          return compile_all(variants, options, *cache, std::move(ended));
        },
        *native};
  }
  if (!python_native) {
    TRY_ASSIGN(auto worker,
               build_python_worker(WorkerKind::kNativePython, **python, compile, *cache, stop));
    TRY_ASSIGN(python_native,
               NativeWorker::start(worker, Language::kPython, {imports.begin(), imports.end()}));
  }
  return NativeLanguage{
      [this](const std::vector<Variant>& variants, Purpose purpose, std::stop_token ended) {
        return compile_all_python(variants, purpose, std::move(ended));
      },
      *python_native};
}

// Runs those of one language after those of another; false once a run has not finished.
template <class Run>
Expected<bool> Session::State::by_language(const std::vector<Variant>& variants,
                                           std::stop_token stop, const Run& run) {
  Expected<bool> finished = true;
  for (const LanguageFacts& language : kLanguages) {
    const auto its = in_language(variants, language.language);
    if (its.empty() || !finished || !*finished) continue;
    finished = natively(language.language, stop).and_then([&](const NativeLanguage& runner) {
      return run(its, runner);
    });
  }
  return finished;
}

Expected<CompiledVariants> Session::State::compile_all_python(const std::vector<Variant>& variants,
                                                              Purpose purpose,
                                                              std::stop_token stop) {
  CompiledVariants compiled;
  return compile_python(variants, **python, compile.sources, *cache, purpose, stop)
      .map([&compiled](const UnitResult& unit) {
        compiled.add(unit);
        return std::move(compiled);
      });
}

// Those of the variants to time that have not failed, by language; nothing if there are none.
std::vector<TimedSide> Session::State::sides(std::vector<CompiledVariant> variants,
                                             std::stop_token stop) {
  {
    std::lock_guard lock(turn);
    std::erase_if(variants, [this](const auto& one) { return failed.contains(one.variant.key); });
  }
  if (variants.empty()) return {};
  measuring("timing");
  std::vector<TimedSide> sides;
  for (const LanguageFacts& language : kLanguages) {
    auto its = in_language(variants, language.language);
    if (its.empty()) continue;
    auto runner = natively(language.language, stop);
    if (runner) {
      sides.push_back({std::move(its), runner->worker, timer_options(), native_events()});
      continue;
    }
    for (const CompiledVariant& one : its) {
      done({one.variant, Failure{FailureKind::kWorkerLost, to_string(runner.error())}, 0});
    }
  }
  return sides;
}

TimerOptions Session::State::timer_options() const {
  TimerOptions timing{config.repetitions, config.min_time};
  timing.events = config.events;
  timing.wants_start = config.wants_start;
  timing.memory_limit = memory_limit_here(1);
  if (config.timeout) timing.timeout_s = *config.timeout;
  return timing;
}

Expected<bool> Session::State::verify(const std::vector<Variant>& candidates,
                                      std::stop_token stop) {
  if (candidates.empty()) return true;
  measuring("verifying");
  return by_language(candidates, stop, [&](const auto& its, const NativeLanguage& runner) {
    return verify_all(its, runner, timer_options(), native_events(), stop);
  });
}

// With a compiler that has nothing kept, so that it says all.
tl::expected<wire::Message, std::string> Session::State::inspect_one(const CompiledVariant& one,
                                                                     NativeWorker& worker) const {
  TimerOptions options = timer_options();
  auto folder = PrivateFolder::make();
  if (!folder) return tl::unexpected(to_string(folder.error()));
  options.compiler = {folder->path(), logs_of(config.dump)};
  return ask_worker("inspect", worker, {one}, options);
}

// Inspects each, once more in a process of its own. One that cannot be inspected was reported when
// it was measured.
Expected<bool> Session::State::dump(const std::vector<CompiledVariant>& variants,
                                    std::stop_token stop) {
  if (variants.empty()) return true;
  measuring("inspecting");
  for (const CompiledVariant& one : variants) {
    if (stop.stop_requested()) return false;
    if (failed.contains(one.variant.key)) continue;
    TRY_ASSIGN(auto runner, natively(one.variant.language, stop));
    std::stop_callback end(stop, [&runner] { runner.worker.kill(); });
    auto inspected = inspect_one(one, runner.worker);
    if (stop.stop_requested()) return false;
    if (!inspected || inspected->verb != "inspected") {
      ++not_dumped;
      note(one.variant.key +
           ": cannot be inspected: " + (inspected ? inspected->get("message") : inspected.error()));
      continue;
    }
    TRY(write_dump(config.dump_folder / file_name_of(one.variant.key), config.dump, one.variant,
                   *inspected));
  }
  note("the dumps are in " + config.dump_folder.string());
  return true;
}

Means Session::State::means() const { return {libtorch, python, config.wants_times}; }

// Asked once, and only if there is something to run.
void Session::State::look_for_python(const std::vector<Variant>& variants) {
  imports.merge(imported_by(variants));
  if (python || std::none_of(variants.begin(), variants.end(), is_in_python)) return;
  python = find_python(config.tools.python, libtorch, compile.sources);
}

// All as one unit: the interpreter compiles them faster than it starts.
void Session::State::compile_python_variants(const std::vector<Variant>& variants,
                                             const std::function<void(UnitResult)>& on_unit,
                                             std::stop_token stop) {
  if (variants.empty()) return;
  auto unit = compile_python(variants, **python, compile.sources, *cache, Purpose::kMeasure, stop);
  if (unit) return on_unit(*std::move(unit));
  if (stop.stop_requested()) return;
  UnitResult all;
  for (const Variant& variant : variants) {
    all.failed.push_back(not_compiled(variant, to_string(unit.error())));
  }
  on_unit(std::move(all));
}

// Reports those that cannot be measured here as skipped, and returns the others.
std::vector<Variant> Session::State::skip_unsupported(const std::vector<Variant>& variants) {
  std::vector<Variant> runnable;
  for (const auto& variant : variants) {
    if (auto reason = unsupported_reason(variant, means())) {
      done({variant, Skipped{*reason}, 0});
    } else {
      runnable.push_back(variant);
    }
  }
  return runnable;
}

Expected<bool> Session::experiment(const std::vector<Variant>& variants, std::stop_token stop) {
  TimerOptions timing = state_->timer_options();
  timing.iterations = state_->config.iterations;
  timing.wants_operators = state_->config.wants_operators;
  state_->measuring("measuring");
  state_->look_for_python(variants);
  const auto runnable = state_->skip_unsupported(variants);
  auto finished =
      state_->by_language(runnable, stop, [&](const auto& its, const NativeLanguage& runner) {
        auto ran = run_experiments(its, runner, timing, state_->native_events(), stop);
        if (!ran || !*ran || state_->config.dump.empty()) return ran;
        return runner.compile(its, Purpose::kMeasure, stop).and_then([&](auto compiled) {
          std::vector<CompiledVariant> to_dump;
          for (auto& [key, unit] : compiled.units) to_dump.push_back(std::move(unit));
          return state_->dump(to_dump, stop);
        });
      });
  state_->tidy();
  return finished;
}

void Session::State::take(UnitResult unit, const Selected& selected) {
  for (const auto& one : unit.failed) done(one);
  if (selected) std::erase_if(unit.compiled, [&](const auto& one) { return !selected(one); });
  for (const auto& one : unit.compiled) {
    if (config.verify && is_candidate(one.variant)) to_verify.push_back(one.variant);
    if (config.wants_times) to_time.push_back(one);
    if (!config.dump.empty()) to_dump.push_back(one);
  }
  if (!scheduler) return;
  std::erase_if(unit.compiled, [](const auto& one) { return !is_countable(one.variant); });
  scheduler->add(std::move(unit.compiled));
}

Expected<bool> Session::measure(const std::vector<Variant>& variants, std::stop_token stop,
                                const Selected& selected) {
  auto finished = count(variants, stop, selected);
  if (finished && *finished) finished = time({this}, stop);
  if (finished && *finished) finished = inspect(stop);
  return finished;
}

Expected<bool> Session::count(const std::vector<Variant>& variants, std::stop_token stop,
                              const Selected& selected) {
  State& state = *state_;
  state.look_for_python(variants);
  state.to_time.clear();
  state.to_dump.clear();
  state.to_verify.clear();
  auto on_unit = [&](UnitResult unit) { state.take(std::move(unit), selected); };
  const auto runnable = state.skip_unsupported(variants);
  state.compile_python_variants(in_language(runnable, Language::kPython), on_unit, stop);
  auto compiled =
      compile(in_language(runnable, Language::kCpp), state.compile, *state.cache, on_unit, stop);
  if (!compiled && !stop.stop_requested()) return tl::unexpected(compiled.error());
  if (stop.stop_requested()) return false;
  return !state.scheduler || state.scheduler->wait(stop);
}

bool Session::time(const std::vector<Session*>& sessions, std::stop_token stop) {
  std::vector<TimedSide> sides;
  for (Session* session : sessions) {
    auto its = session->state_->sides(std::exchange(session->state_->to_time, {}), stop);
    std::move(its.begin(), its.end(), std::back_inserter(sides));
  }
  return time_all(std::move(sides), stop);
}

Expected<bool> Session::inspect(std::stop_token stop) {
  State& state = *state_;
  // A missing device has been reported by then.
  std::erase_if(state.to_verify, [&](const auto& one) { return state.skipped.contains(one.key); });
  std::erase_if(state.to_dump,
                [&](const auto& one) { return state.skipped.contains(one.variant.key); });
  auto finished = state.verify(std::exchange(state.to_verify, {}), stop);
  if (finished && *finished) finished = state.dump(std::exchange(state.to_dump, {}), stop);
  state.tidy();
  return finished;
}

Expected<Fingerprint> Session::measure_builtin(std::vector<CompiledVariant> variants,
                                               std::stop_token stop) {
  std::vector<Variant> plain;
  for (const auto& one : variants) plain.push_back(one.variant);
  state_->scheduler->prepare(plain);
  auto found = fingerprint(stop);
  if (!found) return found;
  state_->scheduler->add(std::move(variants));
  if (!state_->scheduler->wait(stop)) return fail("interrupted");
  return found;
}

}  // namespace instr
