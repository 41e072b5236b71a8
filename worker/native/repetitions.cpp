#include "worker/native/repetitions.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <string>

#include "worker/children.h"
#include "worker/native/event_counter.h"
#include "worker/native/libtorch.h"
#include "worker/native/timed_snippet.h"

namespace instr {
namespace {

// A snippet and its results.
struct Entry {
  TimedSnippet* snippet = nullptr;
  std::uint64_t iterations = 0;               // iterations of each repetition
  std::map<std::string, std::string> values;  // metric -> each repetition's values per iteration
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

// Passes what has been added to the totals, unless nothing has: the snippet ran elsewhere.
void report_device(benchmark::State& state, const std::map<std::string, double>& before) {
  const auto after = device_totals();
  if (after == before) return;
  for (const auto& [metric, total] : after) {
    const auto earlier = before.find(metric);
    const double added = total - (earlier == before.end() ? 0 : earlier->second);
    state.counters[metric] = benchmark::Counter(added, benchmark::Counter::kAvgIterations);
  }
}

// Runs an entry: Google Benchmark requests batches, the snippet runs them.
void run_batches(benchmark::State& state, Entry& entry, const std::string& device,
                 const std::vector<EventCounter>& counters) {
  auto batch = static_cast<std::uint64_t>(state.max_iterations);
  reset_peak(device);
  const auto totals = device_totals();
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
  report_device(state, totals);
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
  registered->UseManualTime()->Unit(benchmark::kNanosecond);
  // The first repetition finds out how many iterations fill the time.
  const std::uint64_t iterations = std::max(request.iterations, entry.iterations);
  if (iterations != 0) {
    registered->Iterations(static_cast<benchmark::IterationCount>(iterations));
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
  entry.snippet->add_files(message);
  return message;
}

// To be called before any snippet starts a thread.
std::vector<EventCounter> open_counters(const TimingRequest& request) {
  std::vector<EventCounter> counters;
  for (const std::string& metric : request.events) {
    if (const CountedEvent* event = find_event(metric)) counters.emplace_back(*event);
  }
  return counters;
}

void initialize_library() {
  std::string program = "worker";
  char* arguments[] = {program.data(), nullptr};
  int count = 1;
  benchmark::Initialize(&count, arguments);
}

// Runs a repetition of every entry that has not failed, in this order.
void run_round(const std::vector<std::size_t>& order, const TimingRequest& request,
               std::vector<Entry>& entries, const std::vector<EventCounter>& counters) {
  Collector collector(entries);
  benchmark::ClearRegisteredBenchmarks();
  for (std::size_t i : order) {
    if (entries[i].snippet->failure().empty()) register_entry(i, entries[i], request, counters);
  }
  benchmark::RunSpecifiedBenchmarks(&collector);
}

std::vector<wire::Message> time_entries(const TimingRequest& request, std::vector<Entry>& entries,
                                        const std::vector<EventCounter>& counters) {
  initialize_library();
  std::vector<std::size_t> order(entries.size());
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 random;
  const MachineUse use;
  for (int round = 0; round < request.repetitions; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    run_round(order, request, entries, counters);
  }
  const std::optional<double> others = use.others();
  std::vector<wire::Message> messages;
  for (const Entry& entry : entries) {
    messages.push_back(make_message(entry, counters));
    if (others) messages.back().fields["others"] = number(*others);
  }
  return messages;
}

}  // namespace

TimedSnippets make_snippets(const TimingRequest& request) {
  TimedSnippets snippets;
  for (std::size_t i = 0; i < request.snippets.size(); ++i) {
    snippets.push_back(std::make_unique<TimedSnippet>(request, i));
  }
  return snippets;
}

wire::Message time_start(const TimingRequest& request) {
  TimedSnippet snippet(request, 0);
  wire::Message message = time_start(snippet);
  snippet.finish();
  return message;
}

wire::Message time_start(TimedSnippet& snippet) {
  auto start = snippet.start();
  if (!start) return snippet.failure_message();
  wire::Message message{"started",
                        {{"first_result", number(start->first_result * 1e9)},
                         {"ready", number(start->ready * 1e9)},
                         {"ready_cpu", number(start->ready_cpu * 1e9)}}};
  message.fields.merge(compiler_report());
  for (const auto& [metric, total] : device_totals()) {
    message.fields["ready_" + metric] = number(total);
  }
  snippet.add_files(message);
  return message;
}

std::vector<wire::Message> time_alternately(const TimingRequest& request) {
  const std::vector<EventCounter> counters = open_counters(request);
  const TimedSnippets snippets = make_snippets(request);
  std::vector<Entry> entries;
  for (const auto& snippet : snippets) {
    snippet->set_up();
    entries.emplace_back().snippet = snippet.get();
  }
  auto messages = time_entries(request, entries, counters);
  for (const auto& snippet : snippets) snippet->finish();
  return messages;
}

std::vector<wire::Message> time_repetitions(const TimingRequest& request,
                                            const TimedSnippets& snippets) {
  std::vector<Entry> entries;
  for (const auto& snippet : snippets) entries.emplace_back().snippet = snippet.get();
  return time_entries(request, entries, open_counters(request));
}

wire::Message join(const std::vector<wire::Message>& messages) {
  wire::Message all{"all", {}};
  for (std::size_t i = 0; i < messages.size(); ++i) {
    all.fields[std::to_string(i)] = wire::encode(messages[i]);
  }
  return all;
}

}  // namespace instr
