#include "core/run/session.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/compile/installation.h"
#include "core/compile/pinned_environment.h"
#include "core/run/capabilities.h"
#include "core/run/make_fingerprint.h"
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

Expected<std::unique_ptr<Session>> Session::open(const MeasureConfig& config, SessionEvents events,
                                                 std::stop_token stop) {
  TRY(check_events(config.events));
  std::unique_ptr<Session> session(new Session(config, std::move(events)));
  TRY(session->start(stop));
  return session;
}

Expected<void> Session::start(std::stop_token stop) {
  if (config_.wants_counts) {
    TRY_ASSIGN(valgrind_, find_valgrind(config_.tools.valgrind));
  }
  TRY_ASSIGN(tools_, Tools::find(
                         config_, stop, [this](const auto& what) { return reporter_.phase(what); },
                         [this](const auto& what) { reporter_.tell(what); }));
  tools_->compile.valgrind_headers = valgrind_.headers;
  reporter_.costs = Costs::read(tools_->cache.folder() / kCostsName);
  native_ = std::make_unique<NativePasses>(config_, *tools_, reporter_);
  if (config_.wants_times || config_.verify || !config_.dump.empty()) {
    TRY(native_->start(Language::kCpp, stop));
  }
  return config_.wants_counts ? open_scheduler() : Expected<void>();
}

Expected<void> Session::open_scheduler() {
  if (cpu_class() == CpuClass::kPlain) reporter_.tell(kNoAvx2);
  ScheduleOptions options{.config = config_, .valgrind = valgrind_};
  options.jobs = tools_->compile.jobs;
  options.find_worker = [this](Language language) { return build_counting_worker(language); };
  options.expected = [known = reporter_.costs](const Variant& variant) {
    return known.of(variant.key, Work::kCount);
  };
  options.tell = [this](const std::string& what) { reporter_.tell(what); };
  options.on_phase = [this](const std::string& what) { return reporter_.phase(what); };
  TRY_ASSIGN(scheduler_, Scheduler::start(std::move(options), reporter_.measure_events()));
  return {};
}

Expected<WorkerProgram> Session::build_counting_worker(Language language) {
  return tools_->language(language).counting_worker(building_.get_token());
}

std::vector<Variant> Session::admit(const std::vector<Variant>& variants) {
  for (const std::string& caution : tools_->expect(variants)) reporter_.tell(caution);
  const Capabilities capabilities{libtorch(), config_.wants_times};
  std::vector<Variant> admitted;
  std::vector<Variant> countable;
  for (const Variant& variant : variants) {
    if (auto obstacle = find_obstacle(variant, capabilities, tools_->language(variant.language))) {
      reporter_.done({variant, Skipped{*obstacle}, 0});
      continue;
    }
    admitted.push_back(variant);
    if (is_countable(variant)) countable.push_back(variant);
  }
  if (scheduler_) scheduler_->prepare(countable);
  return admitted;
}

Expected<Fingerprint> Session::fingerprint(std::stop_token stop) {
  std::map<std::string, std::string> fields;
  if (scheduler_) {
    // Always the same worker's, whatever is counted, so that parts of a set can be compared.
    const bool has_cpp = check_compiler(tools_->compile.toolchain).has_value();
    TRY_ASSIGN(auto hello, scheduler_->hello(has_cpp ? Language::kCpp : Language::kPython, stop));
    fields = std::move(hello.fields);
  }
  if (!scheduler_ || config_.wants_times) {
    TRY_ASSIGN(auto native, native_->start(Language::kCpp, stop));
    fields.merge(std::map(native.worker.hello().fields));
  }
  for (const auto& language : tools_->languages) {
    for (const auto& [name, value] : language->describe()) fields[name] = value;
  }
  return make_fingerprint(libtorch(), tools_->compile.toolchain, valgrind_.version, fields);
}

Expected<std::map<std::string, std::string>> Session::identify(const std::vector<Variant>& variants,
                                                               std::stop_token stop) {
  for (const std::string& caution : tools_->expect(variants)) reporter_.tell(caution);
  return tools_->identify(variants, stop);
}

// Passes a unit on to the scheduler, and keeps it for the other passes.
void Session::take(UnitResult unit, const Selected& selected) {
  for (const Measurement& failed : unit.failed) reporter_.done(failed);
  if (selected) std::erase_if(unit.compiled, std::not_fn(selected));
  for (const CompiledVariant& compiled : unit.compiled) {
    if (config_.verify && is_candidate(compiled.variant)) {
      remaining_.to_verify.push_back(compiled.variant);
    }
    if (config_.wants_times) remaining_.to_time.push_back(compiled);
    if (!config_.dump.empty()) remaining_.to_dump.push_back(compiled);
  }
  if (!scheduler_) return;
  std::erase_if(unit.compiled,
                [](const CompiledVariant& compiled) { return !is_countable(compiled.variant); });
  scheduler_->add(std::move(unit.compiled));
}

Expected<bool> Session::count(const std::vector<Variant>& variants, std::stop_token stop,
                              const Selected& selected) {
  remaining_ = {};
  // Python first: it compiles in a moment, so that counting can begin.
  for (auto known = kLanguages.rbegin(); known != kLanguages.rend(); ++known) {
    const auto in_this = in_language(variants, known->language);
    if (in_this.empty()) continue;
    const auto compiled = tools_->language(known->language)
                              .compile(
                                  in_this, Purpose::kMeasure,
                                  [&](UnitResult unit) { take(std::move(unit), selected); }, stop);
    if (stop.stop_requested()) return false;
    TRY(compiled);
  }
  return !scheduler_ || scheduler_->wait(stop);
}

bool Session::time(const std::vector<Session*>& sessions, std::stop_token stop) {
  std::vector<TimedSide> sides;
  for (Session* session : sessions) {
    auto to_time = std::exchange(session->remaining_.to_time, {});
    auto added = session->native_->timed_sides(std::move(to_time), stop);
    std::move(added.begin(), added.end(), std::back_inserter(sides));
  }
  return time_all(std::move(sides), stop);
}

Expected<bool> Session::inspect(std::stop_token stop) {
  auto [unused, to_dump, to_verify] = std::exchange(remaining_, {});
  // A variant whose device is missing was skipped when it was timed.
  const auto was_skipped = [&](const Variant& variant) {
    return reporter_.was_skipped(variant.key);
  };
  std::erase_if(to_verify, was_skipped);
  std::erase_if(to_dump, [&](const auto& compiled) { return was_skipped(compiled.variant); });
  auto finished = native_->verify(to_verify, stop);
  if (finished && *finished) finished = native_->dump(to_dump, stop);
  tidy();
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
  auto finished = native_->experiment(variants, stop);
  tidy();
  return finished;
}

std::vector<std::filesystem::path> Session::known_folders() const {
  const Installation installation = find_installation();
  std::vector<std::filesystem::path> folders{
      tools_->cache.folder(), installation.sources / "worker", installation.definitions,
      installation.suites, libtorch().library_dir.parent_path()};
  const auto& headers = libtorch().include_dirs;
  folders.insert(folders.end(), headers.begin(), headers.end());
  return folders;
}

// Writes the costs, and keeps the cache within its size.
void Session::tidy() {
  reporter_.costs.write(tools_->cache.folder() / kCostsName);
  tools_->cache.trim(kMaxCacheBytes);
}

Expected<Fingerprint> Session::measure_builtin(const CompiledVariant& snippet,
                                               std::stop_token stop) {
  scheduler_->prepare({snippet.variant});
  TRY_ASSIGN(auto run, fingerprint(stop));
  scheduler_->add({snippet});
  if (!scheduler_->wait(stop)) return fail("interrupted");
  return run;
}

}  // namespace instr
