#include "core/results/measurement.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "core/base/format.h"

namespace instr {

namespace {

// In the order of VerificationCode.
constexpr const char* kCodeNames[] = {"PASS",
                                      "FAIL",
                                      "EAGER_FAILED",
                                      "EXCEPTION_RAISED",
                                      "NONDETERMINISTIC_EAGER_RUN",
                                      "VERIFIER_SKIPPED",
                                      "VERIFIER_DIDNT_RUN"};
static_assert(std::size(kCodeNames) ==
              static_cast<std::size_t>(VerificationCode::kVerifierDidntRun) + 1);

// In the order of FailureKind.
constexpr const char* kFailureNames[] = {
    "compile_error", "definition_error", "crashed",     "aborted",    "exited",     "exception",
    "timed_out",     "out_of_memory",    "worker_lost", "no_profile", "unsupported"};
static_assert(std::size(kFailureNames) == static_cast<std::size_t>(FailureKind::kUnsupported) + 1);

// In the order in which merged() prefers them.
enum class Kind { kSkipped, kVerified, kTimed, kCounted, kFailed };

Kind kind_of(const Measurement& measurement) {
  if (std::holds_alternative<Skipped>(measurement.outcome)) return Kind::kSkipped;
  const auto* counted = std::get_if<Counted>(&measurement.outcome);
  if (counted == nullptr) return Kind::kFailed;
  if (counted->has_count()) return Kind::kCounted;
  return counted->timing ? Kind::kTimed : Kind::kVerified;
}

// Returns false if they differ, other than in the files and limits of a part.
bool depend_on_the_same(const Fingerprint& left, const Fingerprint& right) {
  const auto has = [](const Fingerprint& known, const auto& entry) {
    const auto& [name, value] = entry;
    const auto same =
        std::ranges::find(known.entries, name, [](const auto& one) { return one.first; });
    if (same != known.entries.end()) return same->second == value;
    return name.starts_with(kFilePrefix) || name == kTimeoutField || name == kUnknownInputs;
  };
  return std::ranges::all_of(left.entries, [&](const auto& one) { return has(right, one); }) &&
         std::ranges::all_of(right.entries, [&](const auto& one) { return has(left, one); });
}

// Returns true if `later` was measured since `earlier` had changed, was not whole, or did not say
// what it depends on.
bool replaces(const Measurement& later, const Measurement& earlier) {
  if (later.depends_on.entries.empty()) return false;
  if (earlier.depends_on.entries.empty()) return true;
  return kind_of(later) == kind_of(earlier) ||
         !depend_on_the_same(later.depends_on, earlier.depends_on);
}

}  // namespace

const char* to_string(VerificationCode code) { return kCodeNames[static_cast<std::size_t>(code)]; }

std::optional<VerificationCode> verification_code_from(const std::string& name) {
  const auto known = std::find(std::begin(kCodeNames), std::end(kCodeNames), name);
  if (known == std::end(kCodeNames)) return std::nullopt;
  return static_cast<VerificationCode>(known - std::begin(kCodeNames));
}

std::vector<std::string> verification_code_names() {
  return {std::begin(kCodeNames), std::end(kCodeNames)};
}

bool is_candidate(const Variant& variant) { return variant.backend != Backend::kEager; }

Variant make_eager(const Variant& candidate) {
  Variant eager = candidate;
  eager.backend = Backend::kEager;
  std::string end =
      fmt::format("/{}/t{}/{}", to_string(candidate.autograd), candidate.threads, candidate.device);
  std::string backend = std::string("/") + to_string(candidate.backend) + end;
  if (eager.key.ends_with(backend)) {
    eager.key.resize(eager.key.size() - backend.size());
    eager.key += std::string("/") + to_string(Backend::kEager) + end;
  }
  return eager;
}

std::string unsteady_counts(const Counted& counted) {
  const std::string last = format_count(counted.second_block_instructions);
  if (counted.first_block_instructions == counted.second_block_instructions) {
    return last + ", but not again in another process";
  }
  return format_count(counted.first_block_instructions) + ", then " + last;
}

std::string busy_note(const std::vector<Measurement>& measurements) {
  std::size_t timed = 0;
  std::size_t disturbed = 0;
  double max = 0;
  for (const Measurement& measurement : measurements) {
    const auto* counted = std::get_if<Counted>(&measurement.outcome);
    if (counted == nullptr || !counted->timing) continue;
    const double others = counted->timing->others.value_or(0);
    ++timed;
    if (others > kBusyCores) ++disturbed;
    max = std::max(max, others);
  }
  if (disturbed == 0) return "";
  return fmt::format(
      "busy machine: during {} of {} timings other processes used up to {:.1f} cores; times are "
      "longer and vary more",
      disturbed, timed, max);
}

const char* to_string(FailureKind kind) { return kFailureNames[static_cast<std::size_t>(kind)]; }

std::optional<FailureKind> failure_kind_from(const std::string& name) {
  const auto known = std::find(std::begin(kFailureNames), std::end(kFailureNames), name);
  if (known == std::end(kFailureNames)) return std::nullopt;
  return static_cast<FailureKind>(known - std::begin(kFailureNames));
}

MeasuredState state_of(const Measurement& measurement) {
  if (std::holds_alternative<Counted>(measurement.outcome)) return MeasuredState::kMeasured;
  const auto* failure = std::get_if<Failure>(&measurement.outcome);
  const bool is_skipped = failure == nullptr || failure->kind == FailureKind::kUnsupported;
  return is_skipped ? MeasuredState::kSkipped : MeasuredState::kFailed;
}

std::string reason_of(const Measurement& measurement) {
  if (const auto* skipped = std::get_if<Skipped>(&measurement.outcome)) return skipped->reason;
  const auto* failure = std::get_if<Failure>(&measurement.outcome);
  if (failure == nullptr) return "";
  if (failure->kind == FailureKind::kUnsupported) return failure->message;
  const std::string kind = to_string(failure->kind);
  return failure->message.empty() ? kind : kind + ": " + failure->message;
}

VerificationCode code_of(const Measurement& measurement) {
  const auto& verification = measurement.verification;
  return verification ? verification->code : VerificationCode::kVerifierSkipped;
}

bool has_failed(const Measurement& measurement) {
  return state_of(measurement) == MeasuredState::kFailed ||
         (measurement.verification && measurement.verification->is_wrong());
}

const Timing* find_timing(const Measurement& measurement) {
  const auto* counted = std::get_if<Counted>(&measurement.outcome);
  return counted != nullptr && counted->timing ? &*counted->timing : nullptr;
}

std::optional<double> find_metric_of(const Measurement& measurement, const std::string& metric) {
  const auto* counted = std::get_if<Counted>(&measurement.outcome);
  if (counted == nullptr) return std::nullopt;
  const auto value = counted->metrics.find(metric);
  return value == counted->metrics.end() ? std::nullopt : std::optional(value->second);
}

std::string suite_of(const Variant& variant) { return fs::path(variant.where.file).stem(); }

std::vector<Variant> variants_of(const std::vector<Measurement>& measurements) {
  std::vector<Variant> variants;
  for (const auto& measurement : measurements) variants.push_back(measurement.variant);
  return variants;
}

Expected<std::vector<Measurement>> select(std::vector<Measurement> measurements,
                                          const Selection& selection) {
  if (measurements.empty() || selection == Selection{}) return measurements;
  TRY(check_selection(variants_of(measurements), selection));
  std::erase_if(measurements, [is_selected = make_selector(selection)](const Measurement& each) {
    return !is_selected(each.variant);
  });
  return measurements;
}

Measurement merged(Measurement first, Measurement second) {
  double seconds = first.seconds + second.seconds;
  if (kind_of(second) > kind_of(first)) std::swap(first, second);
  auto* kept = std::get_if<Counted>(&first.outcome);
  auto* other = std::get_if<Counted>(&second.outcome);
  if (kept != nullptr && other != nullptr) {
    kept->metrics.merge(other->metrics);
    kept->lost.merge(other->lost);
    if (!kept->timing) kept->timing = std::move(other->timing);
    kept->files.insert(kept->files.end(), other->files.begin(), other->files.end());
  }
  if (!first.verification) first.verification = std::move(second.verification);
  for (auto& dependency : second.depends_on.entries) {
    auto& known = first.depends_on.entries;
    if (std::ranges::find(known, dependency) == known.end()) known.push_back(std::move(dependency));
  }
  first.seconds = seconds;
  return first;
}

void MeasurementList::add(Measurement measurement) {
  const auto [place, is_new] = places_.try_emplace(measurement.variant.key, all_.size());
  if (!is_new) {
    Measurement& earlier = all_[place->second];
    if (replaces(measurement, earlier)) {
      earlier = std::move(measurement);
      return;
    }
    if (kind_of(earlier) != kind_of(measurement)) {
      earlier = merged(std::move(earlier), std::move(measurement));
      return;
    }
  }
  place->second = all_.size();
  all_.push_back(std::move(measurement));
}

}  // namespace instr
