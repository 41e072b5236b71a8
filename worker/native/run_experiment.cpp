#include "worker/native/run_experiment.h"

#include <map>
#include <vector>

#include "worker/native/libtorch.h"
#include "worker/native/timed_snippet.h"

namespace instr {
namespace {

// More would not fit into a reply.
constexpr std::size_t kMaxEvents = 20'000;
constexpr std::size_t kMaxGraphLength = 1 << 20;
constexpr std::size_t kMaxLogLength = 2 << 20;

constexpr const char* kMetricsLog = "xla_metrics";  // differs from iteration to iteration

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
  std::map<std::uint64_t, std::uint64_t> ends;  // thread -> end of its outermost event
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

namespace {

// Sets the snippets up, and returns the reply about the start of the last one, if it is timed. That
// one comes first: what the others run would be warm for it.
wire::Message start_all(const TimingRequest& request, const TimedSnippets& snippets) {
  wire::Message started;
  if (request.is_cold) started = time_start(*snippets.back());
  for (const auto& snippet : snippets) {
    if (!request.is_cold || snippet != snippets.back()) snippet->set_up();
  }
  return started;
}

// Runs a snippet once to measure memory and once under the profiler.
wire::Message complete(wire::Message timed, TimedSnippet& snippet, const TimingRequest& request) {
  if (timed.verb != "timed") return timed;
  wire::Message reply{"experimented", std::move(timed.fields)};
  reply.fields["peak_bytes"] = std::to_string(tensor_peak([&snippet] { snippet.run(1); }));
  const auto events = record_events(snippet, request);
  if (!snippet.failure().empty()) return snippet.failure_message();
  reply.fields["operators_cpu"] = std::to_string(sum_durations(events, false));
  reply.fields["operators_device"] = std::to_string(sum_durations(events, true));
  snippet.add_files(reply);
  if (request.wants_events) reply.fields["events"] = format_events(events);
  add_state(reply, state_of(snippet));
  return reply;
}

// Profiles an iteration.
wire::Message inspect_iteration(TimedSnippet& snippet, const TimingRequest& request) {
  wire::Message reply{"inspected", {{"events", format_events(record_events(snippet, request))}}};
  for (const std::string& log : request.logs) {
    if (log == kMetricsLog) reply.fields["log_" + log] = compiler_log(log);
  }
  return reply;
}

// Adds the reply about the verification. If that ends the process, the reply has the rest.
wire::Message verify_at_end(const TimingRequest& request, wire::Message reply) {
  const std::string so_far = wire::encode(reply);
  const wire::Message verified = verify(*request.verification, [&](const std::string& stage) {
    request.on_progress({{"stage", stage}, {"so_far", so_far}});
  });
  reply.fields["verification"] = wire::encode(verified);
  return reply;
}

}  // namespace

wire::Message run_experiment(const TimingRequest& request) {
  const TimedSnippets snippets = make_snippets(request);
  wire::Message started = start_all(request, snippets);
  std::vector<wire::Message> replies = time_repetitions(request, snippets);
  if (started.verb == "started") {
    replies.back().fields.merge(compiler_report());  // includes what the repetitions compiled
    replies.back().fields.merge(started.fields);
  }
  for (std::size_t i = 0; i < snippets.size(); ++i) {
    replies[i] = complete(std::move(replies[i]), *snippets[i], request);
  }
  for (const auto& snippet : snippets) snippet->finish();
  const bool is_verified = request.verification && replies.back().verb == "experimented";
  return is_verified ? verify_at_end(request, join(replies)) : join(replies);
}

wire::Message inspect(const TimingRequest& request) {
  TimedSnippet snippet(request, 0);
  wire::Message reply{"inspected", {}};
  snippet.on_module = [&reply](const void* module) {
    reply.fields["graph"] = graph_of(module).substr(0, kMaxGraphLength);
  };
  if (!snippet.set_up() || !snippet.run(kWarmUp)) return snippet.failure_message();
  std::vector<wire::Message> iterations;
  for (int i = 0; i < request.repetitions; ++i) {
    iterations.push_back(inspect_iteration(snippet, request));
    if (!snippet.failure().empty()) return snippet.failure_message();
  }
  for (std::size_t i = 0; iterations.size() > 1 && i < iterations.size(); ++i) {
    reply.fields[std::to_string(i + 1)] = wire::encode(iterations[i]);
  }
  reply.fields.merge(iterations.back().fields);
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
