#include "core/engine/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "core/base/format.h"
#include "core/base/output.h"
#include "core/base/replace_file.h"

namespace instr {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetweenDraws{100};
// Less of a key than this says nothing.
constexpr std::size_t kLeastText = 8;
constexpr const char* kErase = "\r\x1b[K";

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// A run sent to the background must not draw over what the shell shows.
bool in_foreground(int fd) {
  pid_t group = tcgetpgrp(fd);
  return group < 0 || group == getpgrp();
}

std::string eta_text(double left) {
  if (left < 59.5) return fmt::format("eta {:.0f} s", left);
  return "eta " + format_duration(left);
}

std::string head_of(const ProgressView& view) {
  std::string head;
  if (view.total > 0) {
    head = fmt::format("[{}/{}] ", view.done, view.total);
    if (view.failed > 0) head += fmt::format("{} failed, ", view.failed);
  }
  // One decimal from the start, so that the text does not jump.
  head +=
      view.elapsed < 59.95 ? fmt::format("{:.1f} s", view.elapsed) : format_duration(view.elapsed);
  if (view.left) head += ", " + eta_text(*view.left);
  return head;
}

}  // namespace

std::string progress_line(const ProgressView& view, std::size_t width, bool color) {
  std::string head = shorten_end(head_of(view), width);
  std::string more =
      view.running.size() > 1 ? fmt::format(" +{}", view.running.size() - 1) : std::string();
  std::string what = printable(view.running.empty() ? view.phase : view.running[0]);
  std::size_t taken = display_width(head) + 2 + more.size();
  if (what.empty() || taken + std::min(kLeastText, display_width(what)) > width) return head;
  return head + "  " + styled(shorten_middle(what, width - taken), Style::kDim, color) + more;
}

std::string finished_line(const Measurement& measurement) {
  std::string text = printable(measurement.variant.key) + "  ";
  if (const auto* counted = std::get_if<Counted>(&measurement.outcome)) {
    auto ir = counted->metrics.find("ir");
    if (ir != counted->metrics.end()) text += format_count(ir->second) + " instructions, ";
    if (counted->timing) text += format_time(median(counted->timing->wall)) + ", ";
    if (measurement.verification) {
      text += std::string(to_string(measurement.verification->code)) + ", ";
    }
    if (!counted->steady) text += "not steady, ";
    if (!counted->gated) text += "not gated, ";
    text += format_duration(measurement.seconds);
  } else if (const auto* skipped = std::get_if<Skipped>(&measurement.outcome)) {
    text += "skipped: " + printable(skipped->reason);
  } else if (const auto* failure = std::get_if<Failure>(&measurement.outcome)) {
    std::string first = failure->message.substr(0, failure->message.find('\n'));
    text += std::string(to_string(failure->kind)) + (first.empty() ? "" : ": " + printable(first));
  }
  return text;
}

struct Progress::State {
  explicit State(ProgressOptions given) : options(given) {}

  ProgressOptions options;
  std::mutex mutex;
  ProgressView view;  // but for its times
  Clock::time_point begun = Clock::now();
  std::optional<Clock::time_point> measuring_since;
  bool drawn = false;
  bool over = false;
  std::condition_variable_any wake;
  std::jthread ticker;  // last: stops before what it uses goes

  bool is_live() const { return options.terminal.live && options.verbosity != Verbosity::kQuiet; }

  // All below: with the mutex held.

  void erase() {
    if (drawn) write_all(options.fd, kErase);
    drawn = false;
  }

  void draw() {
    if (over || !in_foreground(options.fd)) return;
    // Between two passes of `watch` there is nothing to say.
    if (view.total == 0 && view.phase.empty() && view.running.empty()) return erase();
    view.elapsed = seconds_since(begun);
    view.left.reset();
    if (view.done > 0 && view.done < view.total && measuring_since) {
      double each = seconds_since(*measuring_since) / static_cast<double>(view.done);
      view.left = each * static_cast<double>(view.total - view.done);
    }
    // Asked each time: the window may have been resized. The last column stays free, since some
    // terminals wrap there.
    int columns = isatty(options.fd) == 1 ? terminal_width(options.fd, process_environment)
                                          : options.terminal.width;
    auto width = static_cast<std::size_t>(std::max(columns - 1, 1));
    write_all(options.fd, "\r" + progress_line(view, width, options.terminal.color) + "\x1b[K");
    drawn = true;
  }

  void note(std::string_view text) {
    if (options.verbosity == Verbosity::kQuiet) return;
    erase();
    std::string line(text);
    if (!line.ends_with('\n')) line += '\n';
    write_all(options.fd, line);
  }

  void tick(std::stop_token stop) {
    std::unique_lock lock(mutex);
    while (!stop.stop_requested()) {
      wake.wait_for(lock, stop, kBetweenDraws, [] { return false; });
      if (!stop.stop_requested()) draw();
    }
  }
};

Progress::Progress(ProgressOptions options) : state_(std::make_unique<State>(options)) {
  State* state = state_.get();
  if (state->is_live()) {
    state->ticker = std::jthread([state](std::stop_token stop) { state->tick(std::move(stop)); });
  }
}

Progress::~Progress() { finish(); }

void Progress::phase(std::string what) {
  std::lock_guard lock(state_->mutex);
  state_->view.phase = std::move(what);
}

void Progress::expect(std::size_t total) {
  std::lock_guard lock(state_->mutex);
  state_->view.total = total;
  state_->view.done = 0;
  state_->view.failed = 0;
  state_->measuring_since.reset();
}

void Progress::started(const std::string& key) {
  std::lock_guard lock(state_->mutex);
  if (!state_->measuring_since) state_->measuring_since = Clock::now();
  // What came before measuring is over.
  state_->view.phase.clear();
  state_->view.running.push_back(key);
}

void Progress::finished(const Measurement& measurement) {
  std::lock_guard lock(state_->mutex);
  ProgressView& view = state_->view;
  auto& running = view.running;
  auto found = std::find(running.begin(), running.end(), measurement.variant.key);
  if (found != running.end()) running.erase(found);
  ++view.done;
  const auto* failure = std::get_if<Failure>(&measurement.outcome);
  if (failure != nullptr && failure->kind != FailureKind::kUnsupported) ++view.failed;
  if (state_->options.verbosity != Verbosity::kVerbose || state_->over) return;
  std::string place = view.total > 0 ? fmt::format("[{}/{}] ", view.done, view.total) : "";
  state_->note(place + finished_line(measurement));
}

void Progress::note(std::string_view text) {
  std::lock_guard lock(state_->mutex);
  state_->note(text);
}

bool Progress::print(int fd, std::string_view text) {
  std::lock_guard lock(state_->mutex);
  state_->erase();
  return fd == STDOUT_FILENO ? print_output(text) : write_all(fd, text).error == 0;
}

void Progress::finish() {
  {
    std::lock_guard lock(state_->mutex);
    state_->over = true;
    state_->erase();
  }
  if (state_->ticker.joinable()) {
    state_->ticker.request_stop();
    state_->ticker.join();
  }
}

}  // namespace instr
