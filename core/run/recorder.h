// Keeps the measurements of a run as they end, in memory and, if asked, in a results file.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "core/definitions/variant.h"
#include "core/results/measurement.h"
#include "core/results/results_file.h"

namespace instr {

// All may be called from any thread.
class Recorder {
 public:
  // `on_error` is called, once, if the file cannot be written; the run goes on without it.
  Recorder(std::optional<ResultsTarget> output, std::function<void(const Error&)> on_error);

  void take(const Measurement& measurement);

  // Writes the measurements so far, and from here on each as it arrives.
  void open(const ResultsHeader& header);

  // Nothing is written from here on. `is_complete`: everything to be measured was added.
  void finish(bool is_complete);

  // In the order of the variants, whatever the order they were measured in.
  std::vector<Measurement> in_order_of(const std::vector<Variant>& variants) const;

  std::optional<ResultsHeader> header() const;  // nothing before open()
  bool could_write() const;

 private:
  void write(const Measurement& measurement);  // with the mutex held, as the next
  void fail_to_write(const Error& error);

  std::optional<ResultsTarget> output_;  // until open()
  const std::function<void(const Error&)> on_error_;
  mutable std::mutex mutex_;
  MeasurementList measurements_;
  std::optional<ResultsHeader> header_;
  std::optional<ResultsWriter> writer_;
  bool could_write_ = true;
};

}  // namespace instr
