#include "core/run/session.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/compile/pinned_environment.h"
#include "core/measure/schedule.h"
#include "core/run/capabilities.h"
#include "core/run/make_fingerprint.h"
#include "core/run/native_passes.h"
#include "core/run/tools.h"

namespace instr {

namespace {

// Beyond this, old artefacts are removed; the precompiled headers of two compilers and two LibTorch
// builds fit.
constexpr std::uint64_t kMaxCacheBytes = 4'000'000'000;

constexpr const char* kCostsName = "costs";  // a file of the cache

constexpr const char* kNoAvx2 =
    "this machine has no AVX2: LibTorch's plain code is counted, and cannot be compared with "
    "counts of machines that have it";

}  // namespace

struct Session::State {
  State(const MeasureConfig& how, SessionEvents events)
      : config(how), reporter(std::move(events)) {}
  // Ends the build of a worker, for which the scheduler's threads would wait.
  ~State() { building.request_stop(); }

  Expected<void> open_scheduler();
  Expected<WorkerProgram> build_counting_worker(Language language);
  void take(UnitResult unit, const Selected& selected);
  void tidy();

  const MeasureConfig config;
  Reporter reporter;
  std::unique_ptr<Tools> tools;
  std::string valgrind;  // its version; empty: nothing is counted
  // Work that count() leaves for the other passes.
  struct Remaining {
    std::vector<CompiledVariant> to_time;
    std::vector<CompiledVariant> to_dump;
    std::vector<Variant> to_verify;
  } remaining;
  std::stop_source building;
  // Last: destroyed before the members they use.
  std::unique_ptr<NativePasses> native;
  std::unique_ptr<Scheduler> scheduler;  // null: nothing is to be counted
};

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::Session(Session&&) noexcept = default;
Session::~Session() = default;

const LibTorch& Session::libtorch() const { return state_->tools->libtorch(); }
const Toolchain& Session::toolchain() const { return state_->tools->compile.toolchain; }
const Costs& Session::costs() const { return state_->reporter.costs; }
std::size_t Session::not_dumped() const { return state_->native->not_dumped(); }
Expected<WorkerProgram> Session::worker(std::stop_token stop) const {
  return state_->tools->language(Language::kCpp).counting_worker(stop);
}

Expected<Session> Session::open(const MeasureConfig& config, SessionEvents events,
                                std::stop_token stop) {
  TRY(check_events(config.events));
  auto state = std::make_unique<State>(config, std::move(events));
  if (config.wants_counts) {
    TRY_ASSIGN(state->valgrind, find_valgrind());
  }
  Reporter& reporter = state->reporter;
  TRY_ASSIGN(state->tools, Tools::find(
                               config, stop, [&](const auto& what) { reporter.phase(what); },
                               [&](const auto& what) { reporter.note(what); }));
  reporter.costs = Costs::read(state->tools->cache.folder() / kCostsName);
  reporter.phase("preparing the worker for LibTorch " + state->tools->libtorch().version);
  state->native = std::make_unique<NativePasses>(state->config, *state->tools, reporter);
  const bool has_native_pass = config.wants_times || config.verify || !config.dump.empty();
  if (has_native_pass) {
    TRY(state->native->start(Language::kCpp, stop));
  }
  if (config.wants_counts) {
    TRY(state->open_scheduler());
  }
  return Session(std::move(state));
}

Expected<void> Session::State::open_scheduler() {
  if (cpu_class() == CpuClass::kPlain) reporter.note(kNoAvx2);
  ScheduleOptions options;
  options.jobs = tools->compile.jobs;
  options.find_worker = [this](Language language) { return build_counting_worker(language); };
  options.expected = [known = reporter.costs](const Variant& variant) {
    return known.of(variant.key, Work::kCount);
  };
  if (config.timeout) options.timeout_s = *config.timeout;
  options.retries = config.retries;
  options.fresh_process = config.isolation == Isolation::kProcess;
  options.churn = config.churn;
  options.is_warm = config.is_warm;
  options.note = [this](const std::string& what) { reporter.note(what); };
  options.simulation = config.simulation;
  options.call_paths = config.call_paths;
  options.want_lines = config.wants_lines;
  options.want_functions = config.wants_functions;
  options.follow_calls = config.follows_calls;
  options.keep_profiles = config.keep_profiles;
  TRY_ASSIGN(scheduler, Scheduler::start(std::move(options), reporter.measure_events()));
  return {};
}

Expected<WorkerProgram> Session::State::build_counting_worker(Language language) {
  auto worker = tools->language(language).counting_worker(building.get_token());
  if (worker) reporter.phase("starting LibTorch under Valgrind");
  return worker;
}

std::vector<Variant> Session::admit(const std::vector<Variant>& variants) {
  const Tools& tools = *state_->tools;
  tools.expect(variants);
  const Capabilities capabilities{tools.libtorch(), state_->config.wants_times};
  std::vector<Variant> admitted;
  std::vector<Variant> countable;
  for (const Variant& variant : variants) {
    if (auto obstacle = find_obstacle(variant, capabilities, tools.language(variant.language))) {
      state_->reporter.done({variant, Skipped{*obstacle}, 0});
      continue;
    }
    admitted.push_back(variant);
    if (is_countable(variant)) countable.push_back(variant);
  }
  if (state_->scheduler) state_->scheduler->prepare(countable);
  return admitted;
}

Expected<Fingerprint> Session::fingerprint(std::stop_token stop) {
  State& state = *state_;
  std::map<std::string, std::string> fields;
  if (state.scheduler) {
    TRY_ASSIGN(auto hello, state.scheduler->hello(stop));
    fields = std::move(hello.fields);
  }
  if (!state.scheduler || state.config.wants_times) {
    TRY_ASSIGN(auto native, state.native->start(Language::kCpp, stop));
    fields.merge(std::map(native.worker.hello().fields));
  }
  for (const auto& language : state.tools->languages) {
    for (const auto& [name, value] : language->describe()) fields[name] = value;
  }
  return make_fingerprint(libtorch(), toolchain(), state.valgrind, fields);
}

// Passes a unit on to the scheduler, and keeps it for the other passes.
void Session::State::take(UnitResult unit, const Selected& selected) {
  for (const Measurement& failed : unit.failed) reporter.done(failed);
  if (selected) std::erase_if(unit.compiled, std::not_fn(selected));
  for (const CompiledVariant& compiled : unit.compiled) {
    if (config.verify && is_candidate(compiled.variant)) {
      remaining.to_verify.push_back(compiled.variant);
    }
    if (config.wants_times) remaining.to_time.push_back(compiled);
    if (!config.dump.empty()) remaining.to_dump.push_back(compiled);
  }
  if (!scheduler) return;
  std::erase_if(unit.compiled,
                [](const CompiledVariant& compiled) { return !is_countable(compiled.variant); });
  scheduler->add(std::move(unit.compiled));
}

Expected<bool> Session::count(const std::vector<Variant>& variants, std::stop_token stop,
                              const Selected& selected) {
  State& state = *state_;
  state.remaining = {};
  // Python first: it compiles in a moment, so that counting can begin.
  for (auto known = kLanguages.rbegin(); known != kLanguages.rend(); ++known) {
    const auto in_this = in_language(variants, known->language);
    if (in_this.empty()) continue;
    const auto compiled =
        state.tools->language(known->language)
            .compile(
                in_this, Purpose::kMeasure,
                [&](UnitResult unit) { state.take(std::move(unit), selected); }, stop);
    if (stop.stop_requested()) return false;
    TRY(compiled);
  }
  return !state.scheduler || state.scheduler->wait(stop);
}

bool Session::time(const std::vector<Session*>& sessions, std::stop_token stop) {
  std::vector<TimedSide> sides;
  for (Session* session : sessions) {
    auto& state = *session->state_;
    auto added = state.native->timed_sides(std::exchange(state.remaining.to_time, {}), stop);
    std::move(added.begin(), added.end(), std::back_inserter(sides));
  }
  return time_all(std::move(sides), stop);
}

Expected<bool> Session::inspect(std::stop_token stop) {
  State& state = *state_;
  auto [unused, to_dump, to_verify] = std::exchange(state.remaining, {});
  // A variant whose device is missing was skipped when it was timed.
  const auto was_skipped = [&](const Variant& variant) {
    return state.reporter.was_skipped(variant.key);
  };
  std::erase_if(to_verify, was_skipped);
  std::erase_if(to_dump, [&](const auto& compiled) { return was_skipped(compiled.variant); });
  auto finished = state.native->verify(to_verify, stop);
  if (finished && *finished) finished = state.native->dump(to_dump, stop);
  state.tidy();
  return finished;
}

Expected<bool> Session::measure(const std::vector<Variant>& variants, std::stop_token stop,
                                const Selected& selected) {
  auto finished = count(variants, stop, selected);
  if (finished && *finished) finished = time({this}, stop);
  if (finished && *finished) finished = inspect(stop);
  return finished;
}

Expected<bool> Session::experiment(const std::vector<Variant>& variants, std::stop_token stop) {
  auto finished = state_->native->experiment(variants, stop);
  state_->tidy();
  return finished;
}

// Writes the costs, and keeps the cache within its size.
void Session::State::tidy() {
  reporter.costs.write(tools->cache.folder() / kCostsName);
  tools->cache.trim(kMaxCacheBytes);
}

Expected<Fingerprint> Session::measure_builtin(const CompiledVariant& snippet,
                                               std::stop_token stop) {
  state_->scheduler->prepare({snippet.variant});
  TRY_ASSIGN(auto run, fingerprint(stop));
  state_->scheduler->add({snippet});
  if (!state_->scheduler->wait(stop)) return fail("interrupted");
  return run;
}

}  // namespace instr
