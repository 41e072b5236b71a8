#include "worker/native/run_experiment.h"

#include <map>
#include <vector>

#include "worker/native/inspection.h"
#include "worker/native/timed_snippet.h"

namespace instr {
namespace {

// More do not fit into a reply, and nobody reads them.
constexpr std::size_t kMaxEvents = 20'000;
constexpr std::size_t kMaxGraphLength = 1 << 20;
constexpr std::size_t kMaxLogLength = 2 << 20;

// Iterations after which caches and libraries are warm.
constexpr std::uint64_t kWarmUp = 5;

TimedSnippet snippet_of(const TimingRequest& request) {
  return TimedSnippet(request.snippets.front(), request);
}

// Of one more iteration.
std::vector<OperatorEvent> events_of(TimedSnippet& snippet, const TimingRequest& request) {
  return profile(request.device, [&snippet] { snippet.run(1); });
}

ScriptState state_of(const TimedSnippet& snippet) {
  return snippet.module() == nullptr ? ScriptState{} : script_state(snippet.module());
}

// Time in operators, without double counting: events of one thread nest.
std::uint64_t sum_of(const std::vector<OperatorEvent>& events, bool is_on_device) {
  std::uint64_t sum = 0;
  std::map<std::uint64_t, std::uint64_t> ends;  // of each thread's outermost one
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
  reply.fields.emplace("graphs", std::to_string(state.graphs));  // unless a compiler has made some
  reply.fields["fused"] = std::to_string(state.fused);
  reply.fields["fallbacks"] = std::to_string(state.fallbacks);
  reply.fields["bailouts"] = std::to_string(state.bailouts);
}

// "start duration thread device name", a line each; times in nanoseconds since the first one.
std::string lines_of(const std::vector<OperatorEvent>& events) {
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
  TimedSnippet snippet = snippet_of(request);
  wire::Message started = time_start(snippet);
  if (started.verb != "started") return started;
  wire::Message timed = time_repetitions(request, snippet);
  if (timed.verb != "timed") return timed;
  wire::Message reply{"experimented", std::move(timed.fields)};
  reply.fields.merge(compiler_report());  // also of what the repetitions compiled
  reply.fields.merge(started.fields);

  reply.fields["peak_bytes"] = std::to_string(tensor_peak([&snippet] { snippet.run(1); }));
  const auto events = events_of(snippet, request);
  if (!snippet.failure().empty()) return snippet.failure_message();
  reply.fields["operators_cpu"] = std::to_string(sum_of(events, false));
  reply.fields["operators_device"] = std::to_string(sum_of(events, true));
  if (request.wants_events) reply.fields["events"] = lines_of(events);
  add_state(reply, state_of(snippet));
  snippet.finish();
  return reply;
}

wire::Message inspect(const TimingRequest& request) {
  TimedSnippet snippet = snippet_of(request);
  wire::Message reply{"inspected", {}};
  snippet.on_module = [&reply](const void* module) {
    reply.fields["graph"] = graph_of(module).substr(0, kMaxGraphLength);
  };
  if (!snippet.set_up() || !snippet.run(kWarmUp)) return snippet.failure_message();
  reply.fields["events"] = lines_of(events_of(snippet, request));
  if (!snippet.failure().empty()) return snippet.failure_message();
  reply.fields.merge(compiler_report());
  for (const std::string& log : request.logs) {
    reply.fields["log_" + log] = said_by_compiler(log).substr(0, kMaxLogLength);
  }
  const ScriptState state = state_of(snippet);
  add_state(reply, state);
  reply.fields["optimized_graph"] = state.optimized.substr(0, kMaxGraphLength);
  snippet.finish();
  return reply;
}

}  // namespace instr
