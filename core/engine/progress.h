// The live line on a terminal's standard error: how far the run is, when it will end, what runs
// now. The one place that writes to standard error while measuring.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/terminal.h"
#include "core/values/measurement.h"

namespace instr {

enum class Verbosity { kQuiet, kNormal, kVerbose };

struct ProgressOptions {
  int fd = 2;
  Terminal terminal;  // of that descriptor; no live line where it is not `live`
  Verbosity verbosity = Verbosity::kNormal;
};

// On a terminal: one line, redrawn at most ten times a second. In a pipe: nothing, but a line for
// each finished measurement with --verbose. With --quiet: nothing. All may be called from any
// thread.
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

  // How many measurements there will be; starts counting from none.
  void expect(std::size_t total);

  void started(const std::string& key);
  void finished(const Measurement& measurement);

  // A line of its own on standard error, above the live line; not with --quiet.
  void note(std::string_view text);

  // Writes `text` as it is to `fd`, however quiet this is, with the live line out of its way. False
  // where it could not be written.
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

// "[37/95] 12.3 s, eta 20 s  matmul/mm/... +1", at most `width` columns.
std::string progress_line(const ProgressView& view, std::size_t width, bool color);

// "matmul/mm/...  112,313 instructions, 0.04 s": what --verbose says of a finished one.
std::string finished_line(const Measurement& measurement);

}  // namespace instr
