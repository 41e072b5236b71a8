#include "core/measure/experimenter.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/base/stopwatch.h"
#include "core/measure/experiment_group.h"
#include "core/measure/input_hashes.h"
#include "core/measure/verifier.h"
#include "core/results/verification.h"

namespace instr {

namespace {

// Puts together what is timed together: the variants of a benchmark, except that each on a compiler
// of whole functions is alone.
std::vector<std::vector<Variant>> make_groups(const std::vector<Variant>& variants) {
  std::vector<std::vector<Variant>> groups;
  std::map<std::string, std::size_t> places;  // by eager's key
  for (const Variant& variant : variants) {
    if (is_compiled(variant.backend)) {
      groups.push_back({variant});
      continue;
    }
    const auto [place, is_new] = places.try_emplace(make_eager(variant).key, groups.size());
    if (is_new) groups.emplace_back();
    groups[place->second].push_back(variant);
  }
  return groups;
}

// Adds eager of each variant, which need not be among them.
std::vector<Variant> with_eager(const std::vector<Variant>& variants) {
  std::vector<Variant> all;
  std::set<std::string> keys;
  for (const Variant& variant : variants) {
    for (const Variant& each : {make_eager(variant), variant}) {
      if (keys.insert(each.key).second) all.push_back(each);
    }
  }
  return all;
}

// Adds what the compiler read, and the hashes of what was imported.
void complete_files(Measurement& measurement, const CompiledVariants& compiled,
                    const NativeLanguage& language, InputHashes& hashes) {
  if (!measurement.inputs) return;
  for (auto& [file, hash] : *measurement.inputs) {
    hash = hashes.of_unchanged(file, language.worker.started());
  }
  const auto& package = measurement.variant.package;
  if (package && measurement.variant.backend == Backend::kAoti) {
    (*measurement.inputs)[package->code] =
        hashes.of_unchanged(package->code, language.worker.started());
  }
  const auto unit = compiled.units.find(measurement.variant.key);
  if (unit != compiled.units.end()) {
    measurement.inputs->merge(language.support.list_includes(unit->second));
  }
}

}  // namespace

Expected<bool> run_experiments(const std::vector<Variant>& variants, const NativeLanguage& language,
                               const TimerOptions& options, const MeasureEvents& events,
                               std::stop_token stop) {
  std::vector<Variant> candidates;
  std::copy_if(variants.begin(), variants.end(), std::back_inserter(candidates), is_candidate);
  auto to_verify = compile_for_verification(candidates, language, stop);
  if (stop.stop_requested()) return false;
  TRY(to_verify);
  auto to_time = language.support.compile_all(with_eager(variants), Purpose::kMeasure, stop);
  if (stop.stop_requested()) return false;
  TRY(to_time);
  InputHashes hashes;
  const ExperimentCode code{*std::move(to_verify), *std::move(to_time)};
  std::stop_callback end(stop, [&language] { language.worker.kill(); });
  for (const std::vector<Variant>& group : make_groups(variants)) {
    if (stop.stop_requested()) return false;
    for (const Variant& variant : group) events.on_start(variant.key);
    const Stopwatch watch;
    std::vector<Measurement> measured =
        measure_group(group, code, language.worker, options, events.on_step);
    if (stop.stop_requested()) return false;
    for (Measurement& measurement : measured) {
      complete_files(measurement, code.to_time, language, hashes);
      measurement.seconds = watch.seconds() / static_cast<double>(group.size());
      events.on_done(std::move(measurement));
    }
  }
  return !stop.stop_requested();
}

}  // namespace instr
