#include "core/run/resume.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/content_hash.h"
#include "core/base/format.h"
#include "core/measure/native_worker.h"
#include "core/results/fingerprint.h"
#include "core/results/result_set.h"

namespace instr {

namespace {

constexpr const char* kRepetitions = "repetitions";
constexpr const char* kLibTorch = "libtorch_version";
constexpr const char* kOptions = "options";
constexpr const char* kDefinition = "definition";
constexpr const char* kLibrariesField = "timed_libraries";  // a hash of all that are loaded
constexpr const char* kMinTime = "min_time";
constexpr std::string_view kVariable = "variable ";
constexpr std::size_t kShortHash = 4;  // digits
constexpr std::size_t kMaxChangesListed = 5;

// Names, or with a final * their beginnings, of variables that differ between terminals, logins and
// jobs, and change no result: of devices, the model is compared.
constexpr std::string_view kOfSessions[] = {
    "_",          "COLORTERM", "COLUMNS",   "DBUS_*",      "DESKTOP_*",     "DISPLAY",
    "GNOME_*",    "GPG_TTY",   "INSTR_*",   "JOB_*",       "JOURNAL_*",     "KITTY_*",
    "KONSOLE_*",  "LINES",     "LOGNAME",   "LS_COLORS",   "LSB_*",         "MAIL",
    "OLDPWD",     "PBS_*",     "PS1",       "PWD",         "SHLVL",         "SLURM*",
    "SSH_*",      "STY",       "SUDO_*",    "SYSTEMD_*",   "TERM*",         "TMPDIR",
    "TMUX*",      "VSCODE_*",  "WAYLAND_*", "WINDOW*",     "XAUTHORITY",    "XDG_*",
    "HOSTNAME",   "BUILD_*",   "CI_*",      "GITHUB_*",    "RUNNER_*",      "JENKINS_*",
    "GITLAB_*",   "HISTSIZE",  "HISTFILE",  "HISTCONTROL", "INVOCATION_ID", "EDITOR",
    "PAGER",      "LESS*",     "NO_COLOR",  "CLICOLOR*",   "FORCE_COLOR",   "CUDA_VIS*",
    "NVIDIA_VIS*"};

bool is_of_session(std::string_view name) {
  return std::ranges::any_of(kOfSessions, [name](std::string_view known) {
    if (!known.ends_with('*')) return name == known;
    return name.starts_with(known.substr(0, known.size() - 1));
  });
}

// Returns what a definition says besides its code.
std::string format_options(const Variant& variant) {
  std::string text;
  const Tolerance& tolerance = variant.tolerance;
  for (const auto& value :
       {tolerance.relative, tolerance.absolute, tolerance.cosine, tolerance.rmse}) {
    text += value ? fmt::format(" {}", *value) : " -";
  }
  return text + fmt::format(" {}", variant.iterations.value_or(0));
}

// Names a field whose value was `then` and is `now`.
std::string describe(const std::string& field, const std::string& then, const std::string& now) {
  if (field.starts_with(kFilePrefix)) return "the file " + field.substr(kFilePrefix.size());
  if (field.starts_with(kVariable)) {
    return "the environment variable " + field.substr(kVariable.size());
  }
  if (field == kRepetitions || field == kIterationsField) return "the number of runs or iterations";
  if (field == kLibTorch) return fmt::format("LibTorch (from {} to {})", then, now);
  if (field == kDeviceModel) return fmt::format("the machine (it was {})", then);
  if (field == kOptions) return "what is measured";
  if (field == kDefinition) return "the definition";
  if (field == kLibrariesField) return "a library that is loaded";
  if (field == kMinTime) return "--min-time";
  if (field == kTimeoutField) return "the timeout";
  return "the " + field;
}

// Returns the value that a recorded field has now; nothing if that is not known.
std::optional<std::string> find_now(const std::string& name, const Fingerprint& now,
                                    const RunIdentity& run, InputHashes& files) {
  if (name.starts_with(kFilePrefix)) return files.of(name.substr(kFilePrefix.size()));
  for (const auto& [field, value] : now.entries) {
    if (field == name) return value;
  }
  const bool is_known =
      name.starts_with(kVariable) ? !run.environment.empty() : !run.session.entries.empty();
  return is_known ? std::optional<std::string>("") : std::nullopt;
}

// Returns the model of what the variant runs on; nothing without a session.
std::optional<std::string> find_model(const Variant& variant, const RunIdentity& run) {
  if (run.session.entries.empty()) return std::nullopt;
  return is_on_cuda(variant) && !run.gpu_model.empty() ? run.gpu_model : run.device_model;
}

// Names everything that is measured, and how.
std::string describe_options(const MeasureConfig& config) {
  return fmt::format(
      "{:d}{:d}{:d}{:d}{:d}{:d}{:d}{:d}{:d}{:d}{:d}{:d}{:d}{:d}{:d} {}{}", config.wants_counts,
      config.wants_functions, config.follows_calls, config.call_paths, config.wants_lines,
      config.simulation.cache, config.simulation.branch, config.isolation == Isolation::kFork,
      config.wants_times, config.wants_start, config.wants_relative, config.wants_operators,
      config.wants_warm_compile, config.keeps_counters, config.verify,
      fmt::join(config.events, " "), config.wants_coverage ? " coverage" : "");
}

// Returns the fields of the session that counts, times or both depend on.
Fingerprint::Entries select_fields_of(const Variant& variant, const RunIdentity& run) {
  Fingerprint::Entries fields;
  for (const bool is_timed : {false, true}) {
    if (!(is_timed ? run.config.wants_times : run.config.wants_counts)) continue;
    const MeasuredAs as{.is_timed = is_timed, .language = variant.language};
    for (auto& field : select_fields(run.session, as, {}).value_or(Fingerprint::Entries{})) {
      if (std::ranges::find(fields, field) == fields.end()) fields.push_back(std::move(field));
    }
  }
  return fields;
}

// A longer timeout gives an experiment that was stopped another chance.
bool is_change(const std::string& name, const std::string& then, const std::string& now) {
  if (name != kTimeoutField) return then != now;
  return std::strtod(now.c_str(), nullptr) > std::strtod(then.c_str(), nullptr);
}

}  // namespace

Fingerprint list_dependencies(const Variant& variant, const RunIdentity& run) {
  Fingerprint fingerprint;
  auto& entries = fingerprint.entries;
  entries.emplace_back(kRepetitions, fmt::format("{}", run.config.repetitions));
  entries.emplace_back(kIterationsField, fmt::format("{}", run.config.iterations.value_or(0)));
  entries.emplace_back(kLibTorch, run.libtorch);
  if (const auto model = find_model(variant, run)) entries.emplace_back(kDeviceModel, *model);
  const auto code = run.code.find(variant.key);
  if (code != run.code.end()) {
    entries.emplace_back(kDefinition, content_hash(code->second + format_options(variant)));
  }
  entries.emplace_back(kOptions, describe_options(run.config));
  std::string libraries;
  for (const auto& [name, value] : select_fields_of(variant, run)) {
    if (is_library_field(name)) {
      libraries += name + " " + value + "\n";
    } else if (name != kLibTorch) {
      entries.emplace_back(name, value);
    }
  }
  if (!libraries.empty()) entries.emplace_back(kLibrariesField, content_hash(libraries));
  entries.emplace_back(kMinTime, fmt::format("{}", run.config.min_time));
  entries.emplace_back(kTimeoutField, fmt::format("{}", time_limit(variant, run.config)));
  for (const std::string& variable : run.environment) {
    const std::string name = variable.substr(0, variable.find('='));
    if (is_of_session(name)) continue;
    entries.emplace_back(std::string(kVariable) + name,
                         content_hash(variable).substr(0, kShortHash));
  }
  return fingerprint;
}

Fingerprint with_files(Fingerprint dependencies, const Measurement& measurement) {
  const auto* failure = std::get_if<Failure>(&measurement.outcome);
  if (failure == nullptr || failure->kind != FailureKind::kTimedOut) {
    std::erase_if(dependencies.entries,
                  [](const auto& entry) { return entry.first == kTimeoutField; });
  }
  if (!measurement.inputs) dependencies.entries.emplace_back(kUnknownInputs, "true");
  for (const auto& [file, hash] :
       measurement.inputs.value_or(std::map<std::string, std::string>{})) {
    dependencies.entries.emplace_back(std::string(kFilePrefix) + file, hash);
  }
  return dependencies;
}

std::string find_change(const Measurement& measurement, const Variant& variant,
                        const RunIdentity& now, InputHashes& files) {
  const Fingerprint::Entries& then = measurement.depends_on.entries;
  if (then.empty()) return "the program, which now records what results depend on";
  const Fingerprint fingerprint = list_dependencies(variant, now);
  for (const auto& [name, value] : then) {
    const auto current = find_now(name, fingerprint, now, files);
    if (current && is_change(name, value, *current)) return describe(name, value, *current);
  }
  for (const auto& [name, value] : fingerprint.entries) {
    const bool is_known =
        std::ranges::any_of(then, [&name](const auto& entry) { return entry.first == name; });
    if (!is_known && name != kTimeoutField) return describe(name, "", value);
  }
  return "";
}

bool is_final(const Measurement& measurement) {
  const auto* failure = std::get_if<Failure>(&measurement.outcome);
  const bool is_lost = failure != nullptr && (failure->kind == FailureKind::kWorkerLost ||
                                              failure->kind == FailureKind::kCompileError);
  return !is_lost && measurement.depends_on.get(kUnknownInputs).empty();
}

std::string describe_changes(const std::vector<std::string>& changes, std::size_t count) {
  std::map<std::string, std::size_t> numbers;
  for (const std::string& change : changes) ++numbers[change];
  std::vector<std::pair<std::string, std::size_t>> sorted(numbers.begin(), numbers.end());
  std::ranges::stable_sort(sorted, std::greater(), &std::pair<std::string, std::size_t>::second);
  std::string list;
  for (std::size_t i = 0; i < std::min(sorted.size(), kMaxChangesListed); ++i) {
    list += fmt::format("{}{} ({})", i == 0 ? "" : ", ", sorted[i].first, sorted[i].second);
  }
  if (sorted.size() > kMaxChangesListed) {
    list += fmt::format(", {} others", sorted.size() - kMaxChangesListed);
  }
  return fmt::format("{} of {} are measured again, since this has changed: {}", changes.size(),
                     count, list);
}

namespace {

// Returns the files that a result depends on.
std::vector<fs::path> list_files(const Fingerprint& dependencies) {
  std::vector<fs::path> files;
  for (const auto& [name, value] : dependencies.entries) {
    if (name.starts_with(kFilePrefix)) files.emplace_back(name.substr(kFilePrefix.size()));
  }
  return files;
}

// True if it has each part that the run measures, or none since it failed or was skipped.
bool is_whole(const Measurement& measurement, const MeasureConfig& config) {
  const auto* counted = std::get_if<Counted>(&measurement.outcome);
  if (counted == nullptr) return true;
  const bool is_counted = !config.wants_counts ||
                          !is_countable(measurement.variant, find_stand_in(config.tools)) ||
                          counted->has_count();
  const bool is_verified =
      !config.verify || !is_candidate(measurement.variant) || measurement.verification;
  const bool is_profiled =
      !config.wants_functions || !counted->has_count() || !counted->functions.empty();
  return is_counted && is_profiled && is_verified && (!config.wants_times || counted->timing);
}

// Takes a result of one of the variants.
void take(EarlierResults& earlier, Measurement measurement, const Variant& variant,
          const Resumption& resumption) {
  const std::string& key = variant.key;
  measurement.variant = variant;
  if (earlier.used.contains(key) || !is_final(measurement)) return;
  std::string change = resumption.find_change(measurement);
  if (!change.empty() || !is_whole(measurement, resumption.config)) {
    if (!change.empty()) earlier.changes[key] = std::move(change);
    earlier.outdated.insert_or_assign(key, std::move(measurement));
    return;
  }
  earlier.changes.erase(key);
  if (auto* counted = std::get_if<Counted>(&measurement.outcome)) {
    counted->files = list_files(measurement.depends_on);
  }
  earlier.used.emplace(key, std::move(measurement));
}

}  // namespace

VariantsByKey variants_by_key(const std::vector<Variant>& variants) {
  VariantsByKey by_key;
  for (const Variant& variant : variants) by_key.emplace(variant.key, &variant);
  return by_key;
}

Expected<EarlierResults> read_earlier(const fs::path& file, const Resumption& resumption) {
  EarlierResults earlier;
  std::error_code ignored;
  if (!fs::exists(file, ignored) || fs::file_size(file, ignored) == 0) return earlier;
  TRY_ASSIGN(auto set, read_result_set(file, file.string(), Incomplete::kAllowed));
  earlier.header = std::move(set.results.header);
  // Only the end of a file tells which of the measured files are not of the commit.
  if (!set.results.is_complete) earlier.header.commit.clear();
  for (Measurement& each : set.results.measurements) {
    TRY_ASSIGN(auto measurement, add_profile(set, std::move(each)));
    const auto variant = resumption.variants.find(measurement.variant.key);
    if (variant == resumption.variants.end()) {
      earlier.others.push_back(std::move(measurement));
    } else {
      take(earlier, std::move(measurement), *variant->second, resumption);
    }
  }
  return earlier;
}

std::size_t take_in(EarlierResults& earlier, const fs::path& part, const Resumption& resumption) {
  const std::size_t before = earlier.used.size();
  auto results = read_results(part, Incomplete::kAllowed);
  if (!results) return 0;  // a run has just begun it
  for (Measurement& measurement : results->measurements) {
    const auto variant = resumption.variants.find(measurement.variant.key);
    if (variant != resumption.variants.end()) {
      take(earlier, std::move(measurement), *variant->second, resumption);
    }
  }
  const std::size_t added = earlier.used.size() - before;
  if (added != 0) earlier.header.commit.clear();
  return added;
}

std::vector<Measurement> list_staying(const EarlierResults& earlier,
                                      const std::vector<Variant>& rest) {
  std::vector<Measurement> staying = earlier.others;
  for (const Variant& variant : rest) {
    const auto outdated = earlier.outdated.find(variant.key);
    if (outdated == earlier.outdated.end()) continue;
    Measurement& measurement = staying.emplace_back(outdated->second);
    auto* counted = std::get_if<Counted>(&measurement.outcome);
    if (counted == nullptr) continue;
    counted->functions.clear();  // the file of profiles has one of each key
    counted->call_tree.reset();
    counted->lines.reset();
    counted->device_events.clear();
  }
  return staying;
}

std::vector<Variant> list_missing(const std::vector<Variant>& variants,
                                  const EarlierResults& earlier) {
  std::vector<Variant> missing;
  std::ranges::copy_if(variants, std::back_inserter(missing), [&earlier](const Variant& variant) {
    return !earlier.used.contains(variant.key);
  });
  return missing;
}

Expected<ResultsHeader> with_earlier(ResultsHeader header, const EarlierResults& earlier) {
  if (earlier.used.empty() && earlier.others.empty()) return header;
  header.strangers = earlier.header.strangers;
  if (earlier.header.commit != header.commit) header.commit.clear();
  for (const auto& [key, measurement] : earlier.used) {
    if (!is_on_cuda(measurement.variant)) continue;  // perhaps on another machine
    std::erase_if(header.fingerprint.entries,
                  [](const auto& entry) { return entry.first == kTimedGpu; });
    header.fingerprint.entries.emplace_back(kTimedGpu, measurement.depends_on.get(kDeviceModel));
    break;
  }
  if (earlier.others.empty()) return header;
  TRY_ASSIGN(const auto differences,
             check_fingerprints(earlier.header.fingerprint, header.fingerprint, {}));
  if (is_comparable(differences)) return header;
  return fail(
      fmt::format("this file also has {} that were measured differently: {}",
                  format_plural(earlier.others.size(), "result"), to_string(differences.front())),
      "name another file with --output, or remove this one");
}

}  // namespace instr
