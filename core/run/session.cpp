#include "core/run/session.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/paths.h"
#include "core/base/private_folder.h"
#include "core/compile/installation.h"
#include "core/compile/language_support.h"
#include "core/measure/dump.h"
#include "core/measure/measurer.h"
#include "core/measure/verifier.h"
#include "core/run/left_out.h"
#include "core/run/tools.h"

namespace instr {

Expected<NativeLanguage> NativePasses::start(Language language, std::stop_token stop) {
  LanguageSupport& support = tools_.language(language);
  auto& worker = workers_[static_cast<std::size_t>(language)];
  if (!worker) {
    TRY_ASSIGN(auto program, support.native_worker(stop));
    const Phase phase = reporter_.phase("starting LibTorch");
    TRY_ASSIGN(worker, NativeWorker::start(std::move(program)));
  }
  return NativeLanguage{support, *worker};
}

// Runs the languages one after the other, until one is interrupted.
template <class Run>
Expected<bool> NativePasses::by_language(const std::vector<Variant>& variants, std::stop_token stop,
                                         const Run& run) {
  for (const LanguageFacts& known : kLanguages) {
    const auto selected = in_language(variants, known.language);
    if (selected.empty()) continue;
    TRY_ASSIGN(const NativeLanguage language, start(known.language, stop));
    const Expected<bool> finished = run(selected, language);
    if (!finished || !*finished) return finished;
  }
  return true;
}

std::vector<TimedSide> NativePasses::timed_sides(std::vector<CompiledVariant> variants,
                                                 std::stop_token stop) {
  std::erase_if(variants, [this](const CompiledVariant& compiled) {
    return reporter_.has_failed(compiled.variant.key);
  });
  if (variants.empty()) return {};
  reporter_.measuring("timing");
  std::vector<TimedSide> sides;
  for (const LanguageFacts& known : kLanguages) {
    auto selected = in_language(variants, known.language);
    if (selected.empty()) continue;
    if (auto language = start(known.language, stop)) {
      sides.push_back(
          {std::move(selected), language->worker, timer_options(), reporter_.measure_events()});
    } else {
      const Failure failure{FailureKind::kWorkerLost, to_string(language.error())};
      for (const CompiledVariant& compiled : selected)
        reporter_.done({compiled.variant, failure, 0});
    }
  }
  return sides;
}

TimerOptions NativePasses::timer_options() const {
  return {.config = config_, .memory_limit = memory_limit_here(1)};
}

Expected<bool> NativePasses::verify(const std::vector<Variant>& candidates, std::stop_token stop) {
  if (candidates.empty()) return true;
  reporter_.measuring("verifying");
  return by_language(candidates, stop, [&](const auto& selected, const NativeLanguage& language) {
    return verify_all(selected, language, timer_options(), reporter_.measure_events(), stop);
  });
}

Expected<bool> NativePasses::experiment(const std::vector<Variant>& variants,
                                        std::stop_token stop) {
  reporter_.measuring("measuring");
  return by_language(
      variants, stop, [&](const auto& selected, const NativeLanguage& language) -> Expected<bool> {
        const auto ran = time_beside_eager(selected, language, timer_options(),
                                           reporter_.measure_events(), stop);
        if (!ran || !*ran || config_.dump.empty()) return ran;
        TRY_ASSIGN(auto compiled, language.support.compile_all(selected, Purpose::kMeasure, stop));
        std::vector<CompiledVariant> to_dump;
        for (auto& [key, unit] : compiled.units) to_dump.push_back(std::move(unit));
        return dump(to_dump, stop);
      });
}

// Uses an empty compiler cache, so that the compiler logs everything.
tl::expected<wire::Message, std::string> NativePasses::inspect(const CompiledVariant& variant,
                                                               NativeWorker& worker) const {
  TimerOptions options = timer_options();
  auto folder = PrivateFolder::make();
  if (!folder) return tl::unexpected(to_string(folder.error()));
  options.compiler = {folder->path(), compiler_logs(config_.dump)};
  options.config.repetitions = config_.dump_repetitions;
  return ask_worker("inspect", worker, {variant}, options);
}

Expected<bool> NativePasses::dump(const std::vector<CompiledVariant>& variants,
                                  std::stop_token stop) {
  if (variants.empty()) return true;
  reporter_.measuring("inspecting");
  for (const CompiledVariant& compiled : variants) {
    const std::string& key = compiled.variant.key;
    if (stop.stop_requested()) return false;
    if (reporter_.has_failed(key)) continue;
    TRY_ASSIGN(auto language, start(compiled.variant.language, stop));
    std::stop_callback end(stop, [&language] { language.worker.kill(); });
    auto inspected = inspect(compiled, language.worker);
    if (stop.stop_requested()) return false;
    if (!inspected || inspected->verb != "inspected") {
      ++not_dumped_;
      reporter_.tell(key + ": cannot be inspected: " +
                     (inspected ? inspected->get("message") : inspected.error()));
      continue;
    }
    TRY(write_dump(config_.dump_folder / make_file_name(key), config_.dump, compiled.variant,
                   *inspected));
  }
  reporter_.tell("the dumps are in " + config_.dump_folder.string());
  return true;
}

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
  if (!config_.tools.only_programs &&
      (config_.wants_times || config_.verify || !config_.dump.empty())) {
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
    if (is_countable(variant, libtorch().stand_in)) countable.push_back(variant);
  }
  if (scheduler_) scheduler_->prepare(countable);
  return admitted;
}

Expected<Fingerprint> Session::fingerprint(std::stop_token stop) {
  std::map<std::string, std::string> fields;
  if (config_.tools.only_programs) {
    return make_program_fingerprint(valgrind_.version);
  }
  if (scheduler_) {
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
    if (config_.keeps_inputs) {
      const LanguageSupport& language = tools_->language(compiled.variant.language);
      std::lock_guard lock(inputs_mutex_);
      includes_[compiled.variant.key] = language.list_includes(compiled);
    }
    if (config_.verify && is_candidate(compiled.variant)) {
      remaining_.to_verify.push_back(compiled.variant);
    }
    if (compiled.variant.program) continue;
    if (config_.wants_times) remaining_.to_time.push_back(compiled);
    if (!config_.dump.empty()) remaining_.to_dump.push_back(compiled);
  }
  if (!scheduler_) return;
  std::erase_if(unit.compiled, [this](const CompiledVariant& compiled) {
    return !is_countable(compiled.variant, libtorch().stand_in);
  });
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

std::optional<std::map<std::string, std::string>> Session::list_input_files(
    const Measurement& measurement) {
  const auto* counted = std::get_if<Counted>(&measurement.outcome);
  if (counted == nullptr) return std::nullopt;
  std::lock_guard lock(inputs_mutex_);
  std::map<std::string, std::string> inputs;
  const std::vector<fs::path> own = known_folders();  // part of the fingerprint
  for (const fs::path& loaded : counted->files) {
    const fs::path file = loaded.lexically_normal();
    const bool is_own = std::ranges::any_of(
        own, [&file](const fs::path& folder) { return place_below(file, folder).has_value(); });
    if (!is_own) inputs[file.string()] = hashes_.of_unchanged(file, started_);
  }
  const auto includes = includes_.find(measurement.variant.key);
  if (includes != includes_.end()) inputs.insert(includes->second.begin(), includes->second.end());
  return inputs;
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
