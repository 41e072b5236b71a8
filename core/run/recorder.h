// Keeps the measurements of a run as they end, in memory and, if there is one, in a results file.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "core/definitions/variant.h"
#include "core/results/measurement.h"
#include "core/results/results_file.h"

namespace instr {

// Its functions may be called from any thread.
class Recorder {
 public:
  // `on_error` is called if the file cannot be written, and again if it is not whole at the end;
  // the run goes on without it.
  Recorder(std::optional<ResultsTarget> output, std::function<void(const Error&)> on_error);

  void take(const Measurement& measurement);

  // Writes `earlier` ones, of other variants, and the measurements so far, and from here on each as
  // it arrives.
  void open(const ResultsHeader& header, std::vector<Measurement> earlier = {});

  // Ends the file. `is_complete`: it has all measurements. `strangers`: as in ResultsHeader,
  // besides those of the header.
  void finish(bool is_complete, const std::vector<std::string>& strangers = {});

  // Returns the measurements in the order of the variants.
  std::vector<Measurement> in_order_of(const std::vector<Variant>& variants) const;

  std::optional<ResultsHeader> header() const;  // nothing before open()
  bool could_write() const;                     // everything, at the end

 private:
  // With the mutex held:
  void write(const Measurement& measurement);
  void fail_to_write(const Error& error);

  std::optional<ResultsTarget> output_;  // empty after open()
  const std::function<void(const Error&)> on_error_;
  mutable std::mutex mutex_;
  MeasurementList measurements_;
  std::optional<ResultsHeader> header_;
  std::optional<ResultsWriter> writer_;
  bool could_write_ = true;
};

}  // namespace instr
