#include "worker/native/repetitions.h"

#include <benchmark/benchmark.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "worker/ended.h"
#include "worker/native/device.h"
#include "worker/native/event_counter.h"
#include "worker/native/timed_snippet.h"

namespace instr {
namespace {

// A snippet and its results.
struct Entry {
  TimedSnippet* snippet = nullptr;
  std::uint64_t iterations = 0;               // of each repetition
  std::map<std::string, std::string> values;  // by metric: per iteration, for each repetition
  std::optional<std::uint64_t> peak;
};

std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

void add(std::string& list, double value) {
  if (!list.empty()) list += ' ';
  list += number(value);
}

using Values = std::vector<std::optional<std::uint64_t>>;

Values read_values(const std::vector<EventCounter>& counters) {
  Values values;
  for (const EventCounter& counter : counters) values.push_back(counter.value());
  return values;
}

// Passes the counts to Google Benchmark, which divides them by the iterations.
void report_events(benchmark::State& state, const std::vector<EventCounter>& counters,
                   const Values& before) {
  const Values after = read_values(counters);
  for (std::size_t i = 0; i < counters.size(); ++i) {
    if (!before[i] || !after[i]) continue;
    state.counters[counters[i].metric()] = benchmark::Counter(
        static_cast<double>(*after[i] - *before[i]), benchmark::Counter::kAvgIterations);
  }
}

// Runs an entry: Google Benchmark requests batches, the snippet runs them.
void run_batches(benchmark::State& state, Entry& entry, const std::string& device,
                 const std::vector<EventCounter>& counters) {
  auto batch = static_cast<std::uint64_t>(state.max_iterations);
  reset_peak(device);
  const Values before = read_values(counters);
  while (state.KeepRunningBatch(state.max_iterations)) {
    auto seconds = entry.snippet->run(batch);
    if (!seconds) {
      state.SkipWithError(entry.snippet->failure().c_str());
      return;
    }
    state.SetIterationTime(*seconds);
  }
  report_events(state, counters, before);
  entry.peak = peak_bytes(device);
}

// Keeps each repetition's figures instead of printing them.
class Collector : public benchmark::BenchmarkReporter {
 public:
  explicit Collector(std::vector<Entry>& entries) : entries_(entries) {}

  bool ReportContext(const Context&) override { return true; }

  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      Entry& entry = entries_[std::stoul(run.run_name.function_name)];
      const bool failed = !entry.snippet->failure().empty();
      if (run.run_type != Run::RT_Iteration || failed) continue;
      entry.iterations = static_cast<std::uint64_t>(run.iterations);
      add(entry.values["wall"], run.GetAdjustedRealTime());
      add(entry.values["cpu"], run.GetAdjustedCPUTime());
      for (const auto& [metric, value] : run.counters) add(entry.values[metric], value);
    }
  }

 private:
  std::vector<Entry>& entries_;
};

void register_entry(std::size_t index, Entry& entry, const TimingRequest& request,
                    const std::vector<EventCounter>& counters) {
  auto* registered = benchmark::RegisterBenchmark(
      std::to_string(index).c_str(),
      [&entry, &counters, device = request.device](benchmark::State& state) {
        run_batches(state, entry, device, counters);
      });
  registered->UseManualTime()->Unit(benchmark::kNanosecond)->Repetitions(request.repetitions);
  if (request.iterations != 0) {
    registered->Iterations(static_cast<benchmark::IterationCount>(request.iterations));
  } else {
    registered->MinTime(request.min_time_s)->MinWarmUpTime(request.warm_up_s);
  }
}

wire::Message event_failure(const EventCounter& counter) {
  const auto problem = counter.problem();
  const std::string why = problem ? problem->what : "others use the processor's counters, too";
  return failed("unsupported", std::string(counter.metric()) + ": " + why);
}

wire::Message make_message(const Entry& entry, const std::vector<EventCounter>& counters) {
  if (!entry.snippet->failure().empty()) return entry.snippet->failure_message();
  if (entry.values.empty()) return failed("worker_lost", "Google Benchmark reported no times");
  for (const EventCounter& counter : counters) {
    if (!entry.values.contains(counter.metric())) return event_failure(counter);
  }
  wire::Message message{"timed", entry.values};
  message.fields["iterations"] = std::to_string(entry.iterations);
  if (entry.peak) message.fields["device_peak_bytes"] = std::to_string(*entry.peak);
  return message;
}

double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Reads the first line of /proc/stat. Guests, which follow, are included in users already.
std::optional<double> machine_seconds() {
  std::ifstream stat("/proc/stat");
  std::string name;
  double user = 0, nice = 0, system = 0, idle = 0, disk = 0, irq = 0, soft_irq = 0, stolen = 0;
  stat >> name >> user >> nice >> system >> idle >> disk >> irq >> soft_irq >> stolen;
  if (!stat || name != "cpu") return std::nullopt;
  return (user + nice + system + irq + soft_irq + stolen) /
         static_cast<double>(sysconf(_SC_CLK_TCK));
}

// The machine's use by other processes since this was made.
class MachineUse {
 public:
  // The average number of cores, including those that other virtual machines took; nothing if the
  // kernel does not report it. It counts in ticks of 10 ms.
  std::optional<double> others() const {
    const auto all = machine_seconds();
    const double elapsed = seconds_of(CLOCK_MONOTONIC) - start_;
    if (!all || !all_ || elapsed <= 0) return std::nullopt;
    const double own = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - own_;
    return std::max(0.0, *all - *all_ - own) / elapsed;
  }

 private:
  const double start_ = seconds_of(CLOCK_MONOTONIC);
  const double own_ = seconds_of(CLOCK_PROCESS_CPUTIME_ID);  // CPU seconds of this process
  const std::optional<double> all_ = machine_seconds();      // CPU seconds of all processes
};

// To be called before any snippet starts a thread.
std::vector<EventCounter> open_counters(const TimingRequest& request) {
  std::vector<EventCounter> counters;
  for (const std::string& metric : request.events) {
    if (const CountedEvent* event = find_event(metric)) counters.emplace_back(*event);
  }
  return counters;
}

std::vector<wire::Message> time_entries(const TimingRequest& request, std::vector<Entry>& entries,
                                        const std::vector<EventCounter>& counters) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].snippet->failure().empty()) register_entry(i, entries[i], request, counters);
  }
  std::string program = "worker";
  std::string alternately = "--benchmark_enable_random_interleaving=true";
  char* arguments[] = {program.data(), alternately.data(), nullptr};
  int count = 2;
  benchmark::Initialize(&count, arguments);
  Collector collector(entries);
  const MachineUse use;
  benchmark::RunSpecifiedBenchmarks(&collector);
  const std::optional<double> others = use.others();
  std::vector<wire::Message> messages;
  for (const Entry& entry : entries) {
    messages.push_back(make_message(entry, counters));
    if (others) messages.back().fields["others"] = number(*others);
  }
  return messages;
}

}  // namespace

wire::Message time_start(const TimingRequest& request) {
  TimedSnippet snippet(request.snippets.front(), request);
  wire::Message message = time_start(snippet);
  snippet.finish();
  return message;
}

wire::Message time_start(TimedSnippet& snippet) {
  auto start = snippet.start();
  if (!start) return snippet.failure_message();
  wire::Message message{
      "started",
      {{"first_result", number(start->first_result * 1e9)}, {"ready", number(start->ready * 1e9)}}};
  message.fields.merge(compiler_report());
  return message;
}

std::vector<wire::Message> time_alternately(const TimingRequest& request) {
  const std::vector<EventCounter> counters = open_counters(request);
  std::vector<std::unique_ptr<TimedSnippet>> snippets;
  std::vector<Entry> entries;
  for (const void* code : request.snippets) {
    auto& snippet = snippets.emplace_back(std::make_unique<TimedSnippet>(code, request));
    snippet->set_up();
    entries.emplace_back().snippet = snippet.get();
  }
  auto messages = time_entries(request, entries, counters);
  for (const auto& snippet : snippets) snippet->finish();
  return messages;
}

wire::Message time_repetitions(const TimingRequest& request, TimedSnippet& snippet) {
  std::vector<Entry> entries(1);
  entries.front().snippet = &snippet;
  return time_entries(request, entries, open_counters(request)).front();
}

}  // namespace instr
