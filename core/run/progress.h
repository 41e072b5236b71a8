// The seconds that measuring each variant took in earlier runs, kept in the cache to estimate the
// remaining time of a run. Nothing else depends on them, so errors are ignored.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/output.h"
#include "core/base/phase.h"
#include "core/results/measurement.h"

namespace instr {

enum class Work { kCount, kTime, kVerify };

// Returns the kind of a measurement that has just ended.
Work find_work(const Measurement& measurement);

class Costs {
 public:
  Costs() = default;
  // Returns none if the file is missing or malformed.
  static Costs read(const std::filesystem::path& file);

  void learn(const Measurement& measurement);

  // Returns seconds: for an unknown variant the average of the known ones; 1 if none is known.
  double of(const std::string& key, Work work) const;

  void write(const std::filesystem::path& file) const;

 private:
  std::map<std::string, double> seconds_;  // work and key -> seconds
  double sum_ = 0;
};

// The live line on a terminal's standard error: the progress of the run, its estimated end, and the
// variants that run. Nothing else writes to standard error while measuring.

enum class Verbosity { kQuiet, kNormal, kVerbose };

struct ProgressOptions {
  int fd = 2;
  Terminal terminal;  // the descriptor's terminal; without `live` there is no live line
  Verbosity verbosity = Verbosity::kNormal;
  // In a pipe: when a phase gets a line, the interval of lines, and when the time is summed up.
  std::chrono::milliseconds phase_after{1000};
  std::chrono::milliseconds line_every{15'000};
  std::chrono::milliseconds sum_after{5000};
};

// On a terminal: one line, redrawn at most ten times a second. In a pipe: the current phase, the
// progress every 15 s and, at the end, the time spent on each phase. With --verbose also a line for
// each measurement; with --quiet nothing. Its functions may be called from any thread.
class Progress {
 public:
  explicit Progress(ProgressOptions options);
  // As finish().
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Sets the phase while nothing is measured ("planting a call"), until the next call or the next
  // started(); empty: none.
  void phase(std::string what);

  // Begins a phase beside others, which are shown together, such as "compiling 95 snippets". It
  // must end before the Progress.
  Phase begin(std::string what);

  // Sets the kind of measurement from here on ("timing"; initially "counting").
  void measuring(std::string what);

  // Sets the number of measurements to come; starts counting from 0.
  void expect(std::size_t total);

  // Sets the cost of each of them, and the total, in earlier runs, for the estimate.
  void weigh(Costs costs, double total);

  // Sets what makes the text of standard output that each measurement to come completes, and what
  // to do if nobody reads it.
  void show(std::function<std::string(const Measurement&)> rows, std::function<void()> on_closed);

  void started(const std::string& key);
  // Sets what is done for the variant that has been started last: "verifying".
  void step(std::string what);
  void finished(const Measurement& measurement);

  // Writes a line to standard error, above the live line; not with --quiet.
  void add_line(std::string_view text);

  // Writes `text` to `fd`, even with --quiet, without the live line. Returns false if it could not
  // be written.
  bool print(int fd, std::string_view text);

  // Erases the live line and draws nothing from here on.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct ProgressView {
  std::size_t total = 0;  // 0: not yet known; only the phase is shown
  std::size_t done = 0;
  std::size_t failed = 0;
  double elapsed = 0;          // seconds since the beginning
  std::optional<double> left;  // seconds, estimated
  std::string phase;
  std::string step = {};             // the running variant's step: "verifying"; empty: not known
  std::vector<std::string> running;  // keys, the longest running first
};

// Seconds of each phase, in chronological order.
using TimeSpent = std::vector<std::pair<std::string, double>>;

// Returns "took 47.7 s: 12.1 s starting LibTorch under Valgrind; 30.6 s counting", without phases
// of less than a hundredth; says so if they add up to more, since some were simultaneous.
std::string time_spent_line(double seconds, const TimeSpent& spent);

// Returns "[37/95] 12.3 s, eta 20 s  matmul/mm/... +1", in at most `width` columns.
std::string progress_line(const ProgressView& view, std::size_t width, bool color);

// Returns the line of --verbose: "matmul/mm/...  112,313 instructions, 0.04 s".
std::string finished_line(const Measurement& measurement);

}  // namespace instr
