#include "core/run/native_passes.h"

#include "core/base/file_name.h"
#include "core/base/private_folder.h"
#include "core/measure/dump.h"
#include "core/measure/schedule_plan.h"
#include "core/measure/verifier.h"

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

}  // namespace instr
