#include "core/experiments/experiment_identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "core/base/content_hash.h"
#include "core/measure/timing_request.h"
#include "core/results/fingerprint_check.h"

namespace instr {

namespace {

constexpr const char* kDefinition = "definition";
constexpr const char* kLibraryHash = "timed_libraries";
constexpr const char* kMinTime = "min_time";
constexpr const char* kTimeout = "timeout";
constexpr std::string_view kFile = "file ";
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

// The setting that differs, if any.
std::string find_setting(const ExperimentRecord& record, const ExperimentSetting& now) {
  const ExperimentSetting& then = record.setting;
  if (then.repetitions != now.repetitions || then.iterations_per_run != now.iterations_per_run) {
    return "the number of runs or iterations";
  }
  if (then.libtorch != now.libtorch) {
    return fmt::format("LibTorch (from {} to {})", then.libtorch, now.libtorch);
  }
  return "";
}

std::string describe(const std::string& field) {
  if (field.starts_with(kFile)) return "the file " + field.substr(kFile.size());
  if (field.starts_with(kVariable)) {
    return "the environment variable " + field.substr(kVariable.size());
  }
  if (field == kDefinition) return "the definition";
  if (field == kLibraryHash) return "a library that is loaded";
  if (field == kMinTime) return "--min-time";
  if (field == kTimeout) return "the timeout";
  return "the " + field;
}

// Returns the value that a recorded field has now; nothing if that is not known.
std::optional<std::string> find_now(const std::string& name, const Fingerprint& now,
                                    const RunIdentity& run, InputHashes& files) {
  if (name.starts_with(kFile)) return files.of(name.substr(kFile.size()));
  for (const auto& [field, value] : now.entries) {
    if (field == name) return value;
  }
  const bool is_known =
      name.starts_with(kVariable) ? !run.environment.empty() : !run.session.entries.empty();
  return is_known ? std::optional<std::string>("") : std::nullopt;
}

// A longer timeout gives an experiment that was stopped another chance.
bool is_change(const std::string& name, const std::string& then, const std::string& now) {
  if (name != kTimeout) return then != now;
  return std::strtod(now.c_str(), nullptr) > std::strtod(then.c_str(), nullptr);
}

}  // namespace

Fingerprint identify(const Variant& variant, const RunIdentity& run) {
  Fingerprint fingerprint;
  auto& entries = fingerprint.entries;
  const auto code = run.code.find(variant.key);
  if (code != run.code.end()) {
    entries.emplace_back(kDefinition, content_hash(code->second + format_options(variant)));
  }
  std::string libraries;
  const MeasuredAs as{.is_timed = true, .language = variant.language};
  for (const auto& [name, value] :
       select_fields(run.session, as, {}).value_or(Fingerprint::Entries{})) {
    if (is_library_field(name)) {
      libraries += name + " " + value + "\n";
    } else {
      entries.emplace_back(name, value);
    }
  }
  if (!libraries.empty()) entries.emplace_back(kLibraryHash, content_hash(libraries));
  entries.emplace_back(kMinTime, fmt::format("{}", run.config.min_time));
  entries.emplace_back(kTimeout, fmt::format("{}", time_limit(variant, run.config)));
  for (const std::string& variable : run.environment) {
    const std::string name = variable.substr(0, variable.find('='));
    if (is_of_session(name)) continue;
    entries.emplace_back(std::string(kVariable) + name,
                         content_hash(variable).substr(0, kShortHash));
  }
  return fingerprint;
}

Fingerprint with_files(Fingerprint fingerprint, const Measurement& measurement) {
  const auto* failure = std::get_if<Failure>(&measurement.outcome);
  if (failure == nullptr || failure->kind != FailureKind::kTimedOut) {
    std::erase_if(fingerprint.entries, [](const auto& entry) { return entry.first == kTimeout; });
  }
  if (!measurement.inputs) fingerprint.entries.emplace_back(kUnknownInputs, "true");
  for (const auto& [file, hash] :
       measurement.inputs.value_or(std::map<std::string, std::string>{})) {
    fingerprint.entries.emplace_back(std::string(kFile) + file, hash);
  }
  return fingerprint;
}

std::string find_change(const ExperimentRecord& record, const Variant& variant,
                        const RunIdentity& now, InputHashes& files) {
  if (auto setting = find_setting(record, now.setting); !setting.empty()) return setting;
  const Fingerprint::Entries& then = record.fingerprint.entries;
  if (then.empty()) return "the program, which now records what results depend on";
  const bool is_whole = !now.session.entries.empty();
  if (is_whole && record.setting.device_model != now.setting.model_of(record.variant)) {
    return fmt::format("the machine (it was {})", record.setting.device_model);
  }
  const Fingerprint fingerprint = identify(variant, now);
  for (const auto& [name, value] : then) {
    const auto current = find_now(name, fingerprint, now, files);
    if (current && is_change(name, value, *current)) return describe(name);
  }
  for (const auto& [name, value] : fingerprint.entries) {
    const bool is_known =
        std::ranges::any_of(then, [&name](const auto& entry) { return entry.first == name; });
    if (!is_known && name != kTimeout) return describe(name);
  }
  return "";
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

}  // namespace instr
