// Reports of a session while it works.
#pragma once

#include <functional>
#include <mutex>
#include <set>
#include <string>

#include "core/base/phase.h"
#include "core/measure/measure_events.h"
#include "core/results/measurement.h"
#include "core/run/past_durations.h"

namespace instr {

// Callbacks, from any thread, one at a time.
struct SessionEvents {
  BeginPhase on_phase;                                        // "compiling 95 snippets"
  std::function<void(const std::string& what)> on_measuring;  // "counting", "timing"
  std::function<void(const std::string& what)> on_message;    // worth a separate line
  std::function<void(const std::string& key)> on_start;
  std::function<void(const Measurement& measurement)> on_done;
  std::function<void(const std::string& what)> on_step = {};  // a step of a started experiment
};

// Passes events on, one at a time, and remembers how measurements ended.
class Reporter {
 public:
  explicit Reporter(SessionEvents events) : events_(std::move(events)) {}

  // Begins a phase.
  Phase phase(const std::string& what) {
    std::lock_guard lock(mutex_);
    return begin_phase(events_.on_phase, what);
  }
  void measuring(const std::string& what) { report(events_.on_measuring, what); }
  void tell(const std::string& what) { report(events_.on_message, what); }
  void started(const std::string& key) { report(events_.on_start, key); }
  void done(const Measurement& measurement) {
    std::lock_guard lock(mutex_);
    const std::string& key = measurement.variant.key;
    if (std::holds_alternative<Failure>(measurement.outcome)) failed_.insert(key);
    if (std::holds_alternative<Skipped>(measurement.outcome)) skipped_.insert(key);
    costs.learn(measurement);
    if (events_.on_done) events_.on_done(measurement);
  }

  bool has_failed(const std::string& key) const { return is_in(failed_, key); }
  bool was_skipped(const std::string& key) const { return is_in(skipped_, key); }

  MeasureEvents measure_events() {
    return {[this](const std::string& key) { started(key); },
            [this](const Measurement& measurement) { done(measurement); },
            [this](const std::string& what) { report(events_.on_step, what); }};
  }

  Costs costs;  // costs of earlier runs, and of measurements since then

 private:
  template <class Value>
  void report(const std::function<void(const Value&)>& event, const Value& value) {
    std::lock_guard lock(mutex_);
    if (event) event(value);
  }

  bool is_in(const std::set<std::string>& keys, const std::string& key) const {
    std::lock_guard lock(mutex_);
    return keys.contains(key);
  }

  const SessionEvents events_;
  mutable std::mutex mutex_;
  std::set<std::string> failed_;  // keys
  std::set<std::string> skipped_;
};

}  // namespace instr
