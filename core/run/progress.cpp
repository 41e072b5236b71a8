#include "core/run/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <list>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "core/base/format.h"
#include "core/base/output.h"
#include "core/base/output_file.h"
#include "core/base/read_file.h"
#include "core/definitions/metrics.h"

namespace instr {

namespace {

constexpr std::size_t kMaxCostBytes = 32'000'000;
constexpr std::size_t kMaxCostKeys = 100'000;  // most of a larger number are obsolete
constexpr double kMaxReported = 1e6;

std::string make_name(const std::string& key, Work work) {
  switch (work) {
    case Work::kCount: return "count " + key;
    case Work::kTime: return "time " + key;
    case Work::kVerify: return "verify " + key;
  }
  return key;
}

}  // namespace

Work find_work(const Measurement& measurement) {
  const auto* counted = std::get_if<Counted>(&measurement.outcome);
  if (counted != nullptr && counted->timing) return Work::kTime;
  return measurement.verification ? Work::kVerify : Work::kCount;
}

// A line: "0.041 count matmul/mm/n=4/eager/forward/t1/cpu".
Costs Costs::read(const std::filesystem::path& file) {
  Costs costs;
  auto text = read_file(file, kMaxCostBytes);
  if (!text) return costs;
  for (std::string_view rest = *text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    double seconds = 0;
    auto [stopped, error] = std::from_chars(line.data(), line.data() + line.size(), seconds);
    const auto digits = static_cast<std::size_t>(stopped - line.data());
    if (error != std::errc() || digits + 1 >= line.size() || line[digits] != ' ') continue;
    if (!(seconds >= 0 && seconds <= kMaxReported)) continue;
    auto [known, is_new] = costs.seconds_.emplace(line.substr(digits + 1), seconds);
    if (is_new) costs.sum_ += seconds;
  }
  return costs;
}

void Costs::learn(const Measurement& measurement) {
  if (std::holds_alternative<Skipped>(measurement.outcome)) return;
  double& seconds = seconds_[make_name(measurement.variant.key, find_work(measurement))];
  sum_ += measurement.seconds - seconds;
  seconds = measurement.seconds;
}

double Costs::of(const std::string& key, Work work) const {
  const auto known = seconds_.find(make_name(key, work));
  if (known != seconds_.end()) return known->second;
  return seconds_.empty() ? 1 : sum_ / static_cast<double>(seconds_.size());
}

void Costs::write(const std::filesystem::path& file) const {
  if (seconds_.size() > kMaxCostKeys) return;
  std::string text;
  for (const auto& [name, seconds] : seconds_) {
    if (name.find('\n') == name.npos) text += fmt::format("{:.4f} {}\n", seconds, name);
  }
  (void)replace_file(file, text);
}

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetweenDraws{100};
constexpr std::size_t kMinText = 8;      // a shorter piece of a key is useless
constexpr std::size_t kLineWidth = 100;  // columns in a pipe
constexpr const char* kErase = "\r\x1b[K";

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// A background run must not draw over the shell's output.
bool in_foreground(int fd) {
  pid_t group = tcgetpgrp(fd);
  return group < 0 || group == getpgrp();
}

std::string eta_text(double left) {
  if (left < 59.5) return fmt::format("eta {:.0f} s", left);
  return "eta " + format_duration(left);
}

std::string make_head(const ProgressView& view) {
  std::string head;
  if (view.total > 0) {
    head = fmt::format("[{}/{}] ", view.done, view.total);
    if (view.failed > 0) head += fmt::format("{} failed, ", view.failed);
  }
  // Always one decimal, so that the text does not jump.
  head +=
      view.elapsed < 59.95 ? fmt::format("{:.1f} s", view.elapsed) : format_duration(view.elapsed);
  if (view.left) head += ", " + eta_text(*view.left);
  return head;
}

}  // namespace

std::string progress_line(const ProgressView& view, std::size_t width, bool color) {
  std::string head = shorten_end(make_head(view), width);
  std::string more =
      view.running.size() > 1 ? fmt::format(" +{}", view.running.size() - 1) : std::string();
  std::string what = printable(view.running.empty() ? view.phase : view.running[0]);
  if (!view.running.empty() && !view.step.empty()) what = view.step + " " + what;
  std::size_t taken = display_width(head) + 2 + more.size();
  if (what.empty() || taken + std::min(kMinText, display_width(what)) > width) return head;
  return head + "  " + styled(shorten_middle(what, width - taken), Style::kDim, color) + more;
}

std::string finished_line(const Measurement& measurement) {
  std::string text = printable(measurement.variant.key) + "  ";
  if (const auto* counted = std::get_if<Counted>(&measurement.outcome)) {
    auto ir = counted->metrics.find(kInstructions);
    if (ir != counted->metrics.end()) text += format_count(ir->second) + " instructions, ";
    if (counted->timing) text += format_time(median(counted->timing->of(kWall))) + ", ";
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

std::string time_spent_line(double seconds, const TimeSpent& spent) {
  std::string parts;
  double sum = 0;
  for (const auto& [what, took] : spent) {
    sum += took;
    if (took * 100 < seconds) continue;
    parts += (parts.empty() ? "" : "; ") + format_duration(took) + " " + printable(what);
  }
  const char* how = sum > 1.01 * seconds ? ", in part simultaneously" : "";
  return "took " + format_duration(seconds) + (parts.empty() ? "" : how + (": " + parts));
}

struct Progress::State {
  explicit State(ProgressOptions given) : options(given) {}

  ProgressOptions options;
  std::mutex mutex;
  ProgressView view;  // everything but its times
  Clock::time_point begun = Clock::now();
  std::optional<Clock::time_point> measuring_since;
  std::function<std::string(const Measurement&)> rows;
  std::function<void()> on_closed;
  Costs costs;
  double cost_of_all = 0;  // 0: unknown
  double cost_of_done = 0;
  std::string phase;                // shown while nothing is measured, and no other phase goes on
  std::list<std::string> phases;    // phases that go on
  std::string work = "counting";    // the stage while something is measured
  std::vector<std::string> stages;  // simultaneous uses of the time
  Clock::time_point stage_since = begun;
  TimeSpent spent;
  std::string reported;  // the last phase in a pipe
  Clock::time_point reported_at = begun;
  bool drawn = false;
  bool over = false;
  std::condition_variable_any wake;
  std::jthread ticker;  // last: stops before the members it uses are destroyed

  bool is_live() const { return options.terminal.live && options.verbosity != Verbosity::kQuiet; }

  // The functions below, except for tick(), are called with the mutex held.

  void erase() {
    if (drawn) write_all(options.fd, kErase);
    drawn = false;
  }

  void draw() {
    if (over || !in_foreground(options.fd)) return;
    if (!is_live()) return draw_in_pipe();
    // Between two passes of `watch`.
    if (view.total == 0 && view.phase.empty() && view.running.empty()) return erase();
    view.elapsed = seconds_since(begun);
    estimate();
    // The window may have been resized. The last column stays free, since some terminals wrap
    // there.
    int columns = isatty(options.fd) == 1 ? terminal_width(options.fd, variable_value)
                                          : options.terminal.width;
    auto width = static_cast<std::size_t>(std::max(columns - 1, 1));
    write_all(options.fd, "\r" + progress_line(view, width, options.terminal.color) + "\x1b[K");
    drawn = true;
  }

  // The rest is assumed to deviate from earlier runs by the same factor as the part that is done,
  // which says little while it is less than a tenth of all.
  void estimate() {
    view.left.reset();
    if (view.done == 0 || view.done >= view.total || !measuring_since) return;
    const double elapsed = seconds_since(*measuring_since);
    if (cost_of_done > 0 && cost_of_all > cost_of_done) {
      const double assumed = cost_of_all / 10;
      const double factor = (elapsed + assumed) / (cost_of_done + assumed);
      view.left = factor * (cost_of_all - cost_of_done);
    } else {
      const auto done = static_cast<double>(view.done);
      view.left = elapsed * (static_cast<double>(view.total) - done) / done;
    }
  }

  // Writes long phases, and the progress at intervals.
  void draw_in_pipe() {
    const auto now = Clock::now();
    const bool is_phase = !view.phase.empty() && view.phase != reported;
    const bool is_due = now - reported_at >= options.line_every;
    if (is_phase ? now - stage_since < options.phase_after : !is_due) return;
    if (view.phase.empty() && view.running.empty()) return;
    view.elapsed = seconds_since(begun);
    estimate();
    add_line(is_phase && view.done == 0 ? printable(view.phase)
                                        : progress_line(view, kLineWidth, false));
    reported = view.phase;
    reported_at = now;
  }

  void enter(std::vector<std::string> next) {
    if (next == stages) return;
    const auto now = Clock::now();
    for (const std::string& stage : stages) {
      auto known = std::ranges::find(spent, stage, &TimeSpent::value_type::first);
      if (known == spent.end()) known = spent.insert(spent.end(), {stage, 0});
      known->second += std::chrono::duration<double>(now - stage_since).count();
    }
    stages = std::move(next);
    stage_since = now;
  }

  // To be called after a change of the phases.
  void show_phase() {
    std::vector<std::string> all;
    for (const std::string& each : phases) {
      if (std::ranges::find(all, each) == all.end()) all.push_back(each);
    }
    if (all.empty() && !phase.empty()) all.push_back(phase);
    view.phase = fmt::format("{}", fmt::join(all, " and "));
    if (!view.running.empty()) all = {work};
    enter(std::move(all));
  }

  void add_line(std::string_view text) {
    if (options.verbosity == Verbosity::kQuiet) return;
    erase();
    std::string line = with_visible_controls(text, false);
    if (!line.ends_with('\n')) line += '\n';
    write_all(options.fd, line);
  }

  bool print_rows(const std::string& text) {
    if (text.empty()) return true;
    erase();
    return print_output(text);
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
  if (state->options.verbosity != Verbosity::kQuiet) {
    state->ticker = std::jthread([state](std::stop_token stop) { state->tick(std::move(stop)); });
  }
}

Progress::~Progress() { finish(); }

void Progress::phase(std::string what) {
  std::lock_guard lock(state_->mutex);
  state_->phase = std::move(what);
  state_->show_phase();
}

Phase Progress::begin(std::string what) {
  State* state = state_.get();
  std::lock_guard lock(state->mutex);
  const auto place = state->phases.insert(state->phases.end(), std::move(what));
  state->show_phase();
  return {nullptr, [state, place](void*) {
            std::lock_guard turn(state->mutex);
            state->phases.erase(place);
            state->show_phase();
          }};
}

void Progress::measuring(std::string what) {
  std::lock_guard lock(state_->mutex);
  state_->work = what;
  state_->phase = std::move(what);
  state_->show_phase();
}

void Progress::weigh(Costs costs, double total) {
  std::lock_guard lock(state_->mutex);
  state_->costs = std::move(costs);
  state_->cost_of_all = total;
  state_->cost_of_done = 0;
}

void Progress::expect(std::size_t total) {
  std::lock_guard lock(state_->mutex);
  state_->view.total = total;
  state_->view.done = 0;
  state_->view.failed = 0;
  state_->measuring_since.reset();
}

void Progress::show(std::function<std::string(const Measurement&)> rows,
                    std::function<void()> on_closed) {
  std::lock_guard lock(state_->mutex);
  state_->rows = std::move(rows);
  state_->on_closed = std::move(on_closed);
}

void Progress::started(const std::string& key) {
  std::lock_guard lock(state_->mutex);
  if (!state_->measuring_since) state_->measuring_since = Clock::now();
  state_->phase.clear();
  state_->view.step.clear();
  state_->view.running.push_back(key);
  state_->show_phase();
}

void Progress::step(std::string what) {
  std::lock_guard lock(state_->mutex);
  state_->view.step = std::move(what);
}

void Progress::finished(const Measurement& measurement) {
  std::unique_lock lock(state_->mutex);
  ProgressView& view = state_->view;
  auto& running = view.running;
  auto it = std::find(running.begin(), running.end(), measurement.variant.key);
  if (it != running.end()) running.erase(it);
  if (std::holds_alternative<Skipped>(measurement.outcome) && view.total > 0) {
    --view.total;  // there is nothing to wait for
  } else {
    ++view.done;
  }
  state_->cost_of_done += state_->costs.of(measurement.variant.key, find_work(measurement));
  const auto* failure = std::get_if<Failure>(&measurement.outcome);
  if (failure != nullptr && failure->kind != FailureKind::kUnsupported) ++view.failed;
  if (state_->options.verbosity == Verbosity::kVerbose && !state_->over) {
    std::string place = view.total > 0 ? fmt::format("[{}/{}] ", view.done, view.total) : "";
    state_->add_line(place + finished_line(measurement));
  }
  if (!state_->rows || state_->print_rows(state_->rows(measurement))) return;
  lock.unlock();
  state_->on_closed();
}

void Progress::add_line(std::string_view text) {
  std::lock_guard lock(state_->mutex);
  state_->add_line(text);
}

bool Progress::print(int fd, std::string_view text) {
  std::lock_guard lock(state_->mutex);
  state_->erase();
  if (fd == STDOUT_FILENO) return print_output(text);
  return write_all(fd, with_visible_controls(text, false)).error == 0;
}

void Progress::finish() {
  {
    std::lock_guard lock(state_->mutex);
    const bool is_first = !std::exchange(state_->over, true);
    state_->erase();
    state_->enter({});
    const double took = seconds_since(state_->begun);
    const bool is_reported = !state_->options.terminal.is_terminal &&
                             took * 1000 >= static_cast<double>(state_->options.sum_after.count());
    if (is_first && is_reported) state_->add_line(time_spent_line(took, state_->spent));
  }
  if (state_->ticker.joinable()) {
    state_->ticker.request_stop();
    state_->ticker.join();
  }
}

}  // namespace instr
