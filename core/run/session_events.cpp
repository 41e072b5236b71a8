#include "core/run/session_events.h"

namespace instr {

void Reporter::done(const Measurement& measurement) {
  std::lock_guard lock(mutex_);
  const std::string& key = measurement.variant.key;
  if (std::holds_alternative<Failure>(measurement.outcome)) failed_.insert(key);
  if (std::holds_alternative<Skipped>(measurement.outcome)) skipped_.insert(key);
  costs.note(measurement);
  if (events_.on_done) events_.on_done(measurement);
}

bool Reporter::has_failed(const std::string& key) const {
  std::lock_guard lock(mutex_);
  return failed_.contains(key);
}

bool Reporter::was_skipped(const std::string& key) const {
  std::lock_guard lock(mutex_);
  return skipped_.contains(key);
}

}  // namespace instr
