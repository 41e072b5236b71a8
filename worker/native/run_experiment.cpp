#include "worker/native/run_experiment.h"

#include <map>
#include <vector>

#include "worker/native/inspection.h"
#include "worker/native/timed_snippet.h"

namespace instr {
namespace {

// More would not fit into a reply.
constexpr std::size_t kMaxEvents = 20'000;
constexpr std::size_t kMaxGraphLength = 1 << 20;
constexpr std::size_t kMaxLogLength = 2 << 20;

// Iterations after which caches and libraries are warm.
constexpr std::uint64_t kWarmUp = 5;

// Profiles another iteration.
std::vector<OperatorEvent> record_events(TimedSnippet& snippet, const TimingRequest& request) {
  return profile(request.device, [&snippet] { snippet.run(1); });
}

ScriptState state_of(const TimedSnippet& snippet) {
  return snippet.module() == nullptr ? ScriptState{} : script_state(snippet.module());
}

// Adds up the time in operators. Events of a thread nest: only the outermost count.
std::uint64_t sum_durations(const std::vector<OperatorEvent>& events, bool is_on_device) {
  std::uint64_t sum = 0;
  std::map<std::uint64_t, std::uint64_t> ends;  // of each thread's outermost event
  for (const OperatorEvent& event : events) {
    if (event.is_on_device != is_on_device) continue;
    std::uint64_t& end = ends[event.thread];
    if (!is_on_device && event.start_ns < end) continue;
    end = event.start_ns + event.duration_ns;
    sum += event.duration_ns;
  }
  return sum;
}

void add_state(wire::Message& reply, const ScriptState& state) {
  reply.fields.emplace("graphs", std::to_string(state.graphs));  // a compiler's number has priority
  reply.fields["fused"] = std::to_string(state.fused);
  reply.fields["fallbacks"] = std::to_string(state.fallbacks);
  reply.fields["bailouts"] = std::to_string(state.bailouts);
}

// Returns a line "start duration thread device name" for each event; times in nanoseconds since the
// first event.
std::string format_events(const std::vector<OperatorEvent>& events) {
  std::string lines;
  for (std::size_t i = 0; i < events.size() && i < kMaxEvents; ++i) {
    const OperatorEvent& event = events[i];
    std::string name = event.name;
    for (char& c : name) c = c == '\n' ? ' ' : c;
    lines += std::to_string(event.start_ns - events.front().start_ns) + ' ' +
             std::to_string(event.duration_ns) + ' ' + std::to_string(event.thread) + ' ' +
             (event.is_on_device ? "1 " : "0 ") + name + '\n';
  }
  return lines;
}

}  // namespace

wire::Message run_experiment(const TimingRequest& request) {
  TimedSnippet snippet(request.snippets.front(), request);
  wire::Message started = time_start(snippet);
  if (started.verb != "started") return started;
  wire::Message timed = time_repetitions(request, snippet);
  if (timed.verb != "timed") return timed;
  wire::Message reply{"experimented", std::move(timed.fields)};
  reply.fields.merge(compiler_report());  // includes what the repetitions compiled
  reply.fields.merge(started.fields);

  reply.fields["peak_bytes"] = std::to_string(tensor_peak([&snippet] { snippet.run(1); }));
  const auto events = record_events(snippet, request);
  if (!snippet.failure().empty()) return snippet.failure_message();
  reply.fields["operators_cpu"] = std::to_string(sum_durations(events, false));
  reply.fields["operators_device"] = std::to_string(sum_durations(events, true));
  if (request.wants_events) reply.fields["events"] = format_events(events);
  add_state(reply, state_of(snippet));
  snippet.finish();
  return reply;
}

wire::Message inspect(const TimingRequest& request) {
  TimedSnippet snippet(request.snippets.front(), request);
  wire::Message reply{"inspected", {}};
  snippet.on_module = [&reply](const void* module) {
    reply.fields["graph"] = graph_of(module).substr(0, kMaxGraphLength);
  };
  if (!snippet.set_up() || !snippet.run(kWarmUp)) return snippet.failure_message();
  reply.fields["events"] = format_events(record_events(snippet, request));
  if (!snippet.failure().empty()) return snippet.failure_message();
  reply.fields.merge(compiler_report());
  for (const std::string& log : request.logs) {
    reply.fields["log_" + log] = compiler_log(log).substr(0, kMaxLogLength);
  }
  const ScriptState state = state_of(snippet);
  add_state(reply, state);
  reply.fields["optimized_graph"] = state.optimized.substr(0, kMaxGraphLength);
  snippet.finish();
  return reply;
}

}  // namespace instr
