// The live line on a terminal's standard error: how far the run is, when it will end, what runs
// now. The one place that writes to standard error while measuring.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/terminal.h"
#include "core/engine/costs.h"
#include "core/values/measurement.h"

namespace instr {

enum class Verbosity { kQuiet, kNormal, kVerbose };

struct ProgressOptions {
  int fd = 2;
  Terminal terminal;  // of that descriptor; no live line if it is not `live`
  Verbosity verbosity = Verbosity::kNormal;
  // In a pipe. What is over sooner is not worth a line.
  std::chrono::milliseconds phase_after{1000};
  std::chrono::milliseconds line_every{15'000};
  std::chrono::milliseconds sum_after{5000};
};

// On a terminal: one line, redrawn at most ten times a second. In a pipe: what it waits for, how
// far it is every 15 s and, at the end, where the time went; with --verbose a line for each
// finished measurement. With --quiet: nothing. All may be called from any thread.
class Progress {
 public:
  explicit Progress(ProgressOptions options);
  // As finish().
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // What happens while nothing is measured ("building the worker"), until the next call or the next
  // started(); empty: nothing in particular.
  void phase(std::string what);

  // What is measured from here on ("counting", which it is in the beginning; "timing").
  void measuring(std::string what);

  // How many measurements there will be; starts counting from none.
  void expect(std::size_t total);

  // What each of them, and all together, took in earlier runs: for what is left.
  void weigh(Costs costs, double total);

  void started(const std::string& key);
  void finished(const Measurement& measurement);

  // A line of its own on standard error, above the live line; not with --quiet.
  void note(std::string_view text);

  // Writes `text` as it is to `fd`, however quiet this is, with the live line out of its way. False
  // if it could not be written.
  bool print(int fd, std::string_view text);

  // Erases the live line; nothing is drawn from here on.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// What a live line shows.
struct ProgressView {
  std::size_t total = 0;  // 0: not known yet, only the phase is shown
  std::size_t done = 0;
  std::size_t failed = 0;
  double elapsed = 0;          // seconds since the beginning
  std::optional<double> left;  // seconds, estimated
  std::string phase;
  std::vector<std::string> running;  // keys, the longest running first
};

// Stretches of time by what they were spent on, in the order that they began.
using TimeSpent = std::vector<std::pair<std::string, double>>;

// "took 47.7 s: 12.1 s starting LibTorch under Valgrind; 30.6 s counting": without what took less
// than a hundredth of it.
std::string time_spent_line(double seconds, const TimeSpent& spent);

// "[37/95] 12.3 s, eta 20 s  matmul/mm/... +1", at most `width` columns.
std::string progress_line(const ProgressView& view, std::size_t width, bool color);

// "matmul/mm/...  112,313 instructions, 0.04 s": what --verbose says of a finished one.
std::string finished_line(const Measurement& measurement);

}  // namespace instr
