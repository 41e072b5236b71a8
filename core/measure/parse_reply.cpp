#include "core/measure/parse_reply.h"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <sstream>
#include <tuple>
#include <utility>

#include "core/base/checkout_guard.h"
#include "core/base/format.h"
#include "core/base/text.h"
#include "core/compile/cpp/diagnostics.h"
#include "core/compile/cuda_host.h"
#include "core/definitions/backends.h"
#include "core/definitions/metrics.h"
#include "core/measure/dump.h"
#include "core/measure/failure_text.h"
#include "core/profile/call_tree.h"
#include "core/profile/function_names.h"
#include "core/results/profile_json.h"
#include "core/results/simulation.h"

namespace instr {

namespace {

// Text around a reason.
constexpr const char* kBeginnings[] = {"Graph Break Reason: ", "guard failure(s):"};
constexpr const char* kEnds[] = {" For more details about this graph break",
                                 "User code traceback:", "User stack trace:"};

// Returns the reason as a line, without the text around it.
std::string extract_reason(std::string text, const Variant& variant) {
  text = in_terms_of_toml(std::move(text), variant);
  for (const char* beginning : kBeginnings) {
    const std::size_t at = text.find(beginning);
    if (at != std::string::npos) text.erase(0, at + std::string_view(beginning).size());
  }
  for (const char* end : kEnds) text.resize(std::min(text.find(end), text.size()));
  std::string line;
  for (const char c : text) {
    const bool is_space = c == ' ' || c == '\n' || c == '\t';
    const bool is_needless = line.empty() ? is_space || c == '-' : is_space && line.back() == ' ';
    if (!is_needless) line += is_space ? ' ' : c;
  }
  while (line.ends_with(' ') || line.ends_with('-')) line.pop_back();
  return shorten_end(printable(line), kMaxReasonLength);
}

std::string format_place(const std::string& file, int line, const Variant& variant) {
  if (file == "<snippet>") {
    if (auto place = python_place(line, variant)) return to_string(*place);
    return "";
  }
  return file.empty() ? "" : printable(fmt::format("{}:{}", file, line));
}

std::vector<CompilerNote> parse_notes(JsonValue json, const char* name, const Variant& variant) {
  std::vector<CompilerNote> notes;
  for (const JsonValue note : items_of(json, name)) {
    const auto file = member_as<std::string_view>(note, "file");
    const auto line = member_as<int>(note, "line");
    const auto text = member_as<std::string_view>(note, "text");
    const auto count = member_as<std::uint64_t>(note, "count");
    if (!file || !line || !text || !count) continue;
    notes.push_back({format_place(std::string(*file), *line, variant),
                     extract_reason(std::string(*text), variant), *count});
  }
  return notes;
}

using FunctionName = std::pair<std::string, std::string>;  // function and object

FunctionName make_name(const ProfileFunction& function) {
  return {without_hashes(function.function), function.library()};
}

// Adds the calls among these functions. `names`: of the profile's functions.
void add_callees(std::vector<FunctionCost>& functions, const Profile& profile,
                 const std::vector<FunctionName>& names, std::size_t event,
                 std::uint64_t iterations) {
  std::map<FunctionName, std::size_t> places;
  for (std::size_t i = 0; i < functions.size(); ++i) {
    places[{functions[i].function, functions[i].object}] = i;
  }
  std::map<std::pair<std::size_t, std::size_t>, std::pair<std::uint64_t, std::uint64_t>> sums;
  for (const ProfileCalls& calls : profile.calls) {
    const auto caller = places.find(names[calls.caller]);
    const auto callee = places.find(names[calls.callee]);
    if (caller == places.end() || callee == places.end()) continue;
    auto& [count, cost] = sums[{caller->second, callee->second}];
    count += calls.count;
    cost += calls.cost[event];
  }
  for (const auto& [pair, sum] : sums) {
    functions[pair.first].callees.push_back({pair.second, per_iteration(sum.first, 0, iterations),
                                             per_iteration(sum.second, 0, iterations)});
  }
}

constexpr int kMaxEntryCost = 64;  // instructions, more or less than the empty loop's

std::optional<std::uint64_t> parse_field(const wire::Message& reply, const char* name) {
  return parse_number<std::uint64_t>(reply.get(name));
}

// Returns the instructions for entering a block that cost `total`. One of twice the iterations cost
// `doubled`; 0 if none was counted. Entering costs an instruction or two more or less than for the
// empty loop, depending on the registers that the snippet uses. Anything beyond is not entry cost:
// later iterations differed from earlier ones.
std::uint64_t entry_cost(std::uint64_t total, std::uint64_t doubled, std::uint64_t loop_entry) {
  const auto once = static_cast<std::int64_t>(2 * total - doubled);
  const std::int64_t more = once - static_cast<std::int64_t>(loop_entry);
  const bool is_entry = doubled != 0 && once >= 0 && std::abs(more) <= kMaxEntryCost;
  return is_entry ? static_cast<std::uint64_t>(once) : loop_entry;
}

std::vector<std::string> split_words(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

// Numbers separated by spaces; 0 for anything else.
std::vector<double> parse_numbers(const std::string& text) {
  std::vector<double> numbers;
  for (const std::string& word : split_words(text))
    numbers.push_back(std::strtod(word.c_str(), nullptr));
  return numbers;
}

// Returns the values of a field of the reply by event, as Callgrind names them.
std::map<std::string, double> event_totals(const wire::Message& reply, const char* field) {
  auto names = split_words(reply.get("events"));
  auto numbers = parse_numbers(reply.get(field));
  std::map<std::string, double> totals;
  for (std::size_t i = 0; i < std::min(names.size(), numbers.size()); ++i) {
    totals[names[i]] = numbers[i];
  }
  return totals;
}

// Returns events per iteration, net of the empty loop. The misses of a block's first iterations,
// which start with cold caches, are also in one of twice the length: the difference of the two is
// the steady state.
std::map<std::string, double> net_events(const wire::Message& reply, std::uint64_t iterations) {
  auto once = event_totals(reply, "events_2");
  auto doubled = event_totals(reply, "double_events");
  auto loop = event_totals(reply, "loop_events");
  auto ir = doubled.find("Ir");
  bool was_doubled = ir != doubled.end() && ir->second > 0;
  std::map<std::string, double> events;
  for (const auto& [name, first] : once) {
    if (!doubled.contains(name) || !loop.contains(name)) continue;
    double total = was_doubled ? doubled[name] - first : first;
    events[name] = total / static_cast<double>(iterations) - loop[name];
  }
  return events;
}

// Returns the sum over all functions of a profile; 0 if it has no such event.
std::uint64_t sum_self_costs(const Profile& profile, std::string_view event) {
  const auto index = profile.find_event(event);
  std::uint64_t sum = 0;
  if (!index) return sum;
  for (const auto& function : profile.functions) sum += function.self[*index];
  return sum;
}

// Checks that the profile holds what was counted: Callgrind reports the total of a block, and the
// cost of each function. With simulation, one of them includes the few instructions that start the
// collection, and masked loads and stores (vmaskmov) are charged to their function as instructions;
// the sum of instructions and accesses still agrees.
std::optional<Failure> check_profile(const Profile& profile, std::uint64_t ir,
                                     const wire::Message& reply) {
  auto totals = event_totals(reply, "events_2");
  double counted = static_cast<double>(ir);
  double held = static_cast<double>(sum_self_costs(profile, "Ir"));
  for (const char* access : {"Dr", "Dw"}) {
    const auto total = totals.find(access);
    if (total == totals.end()) continue;
    counted += total->second;
    held += static_cast<double>(sum_self_costs(profile, access));
  }
  bool is_simulated = totals.size() > 1;
  if (std::abs(held - counted) <= (is_simulated ? kMaxEntryCost : 0)) return std::nullopt;
  return Failure{FailureKind::kNoProfile,
                 fmt::format("the profile holds {:.0f} instructions{}, but {:.0f} were counted",
                             held, is_simulated ? " and accesses" : "", counted)};
}

// Removes the empty loop from the function that runs it. `loop`: the instructions, `events`: the
// other costs of the empty loop, per iteration.
void subtract_loop(std::vector<FunctionCost>& functions, double loop,
                   const std::map<std::string, double>& events) {
  const auto runs_it = [](const FunctionCost& function) { return runs_loop(function.function); };
  // A program's loop is in the function that ran when the collection began, so that it has no call.
  const bool is_known = std::ranges::any_of(functions, runs_it);
  for (auto& function : functions) {
    if (is_known ? !runs_it(function) : loop == 0 || function.calls != 0) continue;
    function.ir -= loop;
    for (auto& [name, count] : function.events) {
      if (auto event = events.find(name); event != events.end()) count -= event->second;
    }
    if (is_snippet_symbol(function.function)) function.calls = 0;
    return;
  }
}

// Returns self costs per iteration, which add up to `net`, in a block of `total` instructions.
std::vector<FunctionCost> net_function_costs(const Profile& profile, std::uint64_t iterations,
                                             std::uint64_t total, double net,
                                             const wire::Message& reply) {
  auto functions = function_costs(profile, iterations);
  subtract_loop(functions, per_iteration(total, 0, iterations) - net,
                event_totals(reply, "loop_events"));
  if (std::uint64_t held = sum_self_costs(profile, "Ir"); held != total) {
    functions.push_back(
        {"(miscounted by the simulation)", "", per_iteration(total, held, iterations), 0});
  }
  return functions;
}

// Returns the message with its place. For an error in the definition the worker names no part: it
// is about the signature, unless it is about the TorchScript text.
std::string failure_message(FailureKind kind, const wire::Message& reply, const Variant& variant) {
  if (kind == FailureKind::kWorkerLost || kind == FailureKind::kNoProfile) {
    return reply.get("message");
  }
  std::string message = failure_text(reply.get("message"), reply.get("part"), variant,
                                     static_cast<int>(parse_field(reply, "line").value_or(0)));
  const bool has_place = message != reply.get("message");
  if (has_place || kind != FailureKind::kDefinitionError) return message;
  const std::string readable = explain_loader_message(message);
  SourceLocation where = variant.signature ? variant.signature->where : variant.where;
  if (readable != message && variant.build) where = variant.build->where;
  const std::string place = to_string(where);
  return place.empty() ? readable : place + ": " + readable;
}

Outcome parse_failure(const wire::Message& reply, const Variant& variant) {
  auto kind = failure_kind_from(reply.get("kind"));
  if (!kind) {
    return Failure{FailureKind::kWorkerLost,
                   "unknown failure '" + reply.get("kind") + "': " + reply.get("message")};
  }
  if (*kind == FailureKind::kUnsupported) return Skipped{reply.get("message")};
  return Failure{*kind, failure_message(*kind, reply, variant)};
}

Failure malformed(const wire::Message& reply) {
  return {FailureKind::kWorkerLost, "the worker's reply is malformed: " + wire::encode(reply)};
}

Failure negative(double ir) {
  return {FailureKind::kNoProfile,
          fmt::format("the count is negative, {:g} instructions per iteration: something else "
                      "than the statement moved the counters",
                      ir)};
}

// An experiment's results besides the times, under the metrics' names.
constexpr const char* kExperimentMetrics[] = {
    "first_result",     "ready",  "warm_ready",      "peak_bytes",     "operators_cpu",
    "operators_device", "graphs", "graph_breaks",    "recompilations", "guard_failures",
    "frames",           "fused",  "frames_compiled", "fallbacks",      "bailouts",
    "eager_graphs"};

// Adds the wall times without those of waiting for XLA.
void add_trace(Timing& timing, const wire::Message& reply) {
  const std::vector<double> waits = parse_numbers(reply.get(kXlaWait));
  const std::vector<double>& wall = timing.of(kWall);
  if (waits.empty() || waits.size() != wall.size()) return;
  std::vector<double> trace;
  for (std::size_t i = 0; i < wall.size(); ++i) trace.push_back(std::max(0.0, wall[i] - waits[i]));
  timing.values[kTraceTime] = std::move(trace);
}

// Parses `timed`, and `experimented`, which has more fields.
Outcome parse_times(const wire::Message& reply, const Variant& variant) {
  Timing timing;
  for (const Metric& metric : kTimeMetrics) {
    const bool is_of_repetitions =
        metric.statistic != Statistic::kNone && metric.group != MetricGroup::kStart;
    if (!is_of_repetitions || !reply.fields.contains(metric.name)) continue;
    timing.values[metric.name] = parse_numbers(reply.get(metric.name));
  }
  add_trace(timing, reply);
  timing.iterations = parse_field(reply, "iterations").value_or(0);
  timing.device_peak_bytes = parse_field(reply, "device_peak_bytes");
  if (reply.fields.contains("others")) {
    timing.others = std::strtod(reply.get("others").c_str(), nullptr);
  }
  timing.eager = parse_numbers(reply.get("eager"));
  if (timing.of(kWall).empty() || timing.iterations == 0) return malformed(reply);
  Counted timed;
  timed.iterations = timing.iterations;
  timed.steady = true;  // times are judged by significance instead
  add_times(timed.metrics, timing);
  for (const char* name : kExperimentMetrics) {
    bool is_there = reply.fields.contains(name);
    if (is_there) timed.metrics[name] = std::strtod(reply.get(name).c_str(), nullptr);
  }
  if (facts_of(variant.backend).packages != nullptr) timed.metrics.erase("peak_bytes");
  timed.timing = std::move(timing);
  if (auto report = reply.fields.find("compiler"); report != reply.fields.end()) {
    timed.compiler = parse_compiler_report(report->second, variant);
  }
  timed.operators = times_by_operator(parse_calls(reply.get("events")));
  return timed;
}

// Allocations per iteration, net of the empty loop's.
void add_allocations(Counted& counted, const wire::Message& reply) {
  const auto loop = [&reply](const char* field) { return parse_field(reply, field).value_or(0); };
  for (const auto& [metric, field, loop_field] :
       {std::tuple{"allocs", "allocs_2", "loop_allocs"},
        {"alloc_bytes", "alloc_bytes_2", "loop_alloc_bytes"}}) {
    if (auto total = parse_field(reply, field)) {
      counted.metrics[metric] = per_iteration(*total, loop(loop_field), counted.iterations);
    }
  }
  if (auto peak = parse_field(reply, "peak_bytes")) {
    counted.metrics["peak_bytes"] =
        static_cast<double>(*peak - std::min(*peak, loop("loop_peak_bytes")));
  }
}

// Adds what the statement asked of the device, per iteration.
void add_device_events(Counted& counted, const wire::Message& reply) {
  const std::vector<double> totals = parse_numbers(reply.get("device_2"));
  const auto metrics = metrics_of(MetricGroup::kHost);
  for (std::size_t i = 0; i < std::min(totals.size(), metrics.size()); ++i) {
    counted.metrics[metrics[i].name] = totals[i] / static_cast<double>(counted.iterations);
  }
}

bool is_in_stand_in(const ProfileFunction& function) {
  return function.object.find(kCudaHostFolder) != std::string::npos;
}

// Removes the functions of the stand-ins for CUDA's libraries, and returns their instructions: a
// user's program would execute the real ones'.
std::uint64_t remove_stand_ins(Profile& profile) {
  const auto ir = profile.find_event("Ir");
  std::uint64_t sum = 0;
  for (ProfileFunction& function : profile.functions) {
    if (!ir || !is_in_stand_in(function)) continue;
    sum += function.self[*ir];
    std::ranges::fill(function.self, 0);
  }
  return sum;
}

void subtract_instructions(Counted& counted, double instructions) {
  counted.first_block_instructions -= instructions;
  counted.second_block_instructions -= instructions;
  counted.metrics[kInstructions] = counted.second_block_instructions;
}

// `total`: instructions of the block that the profile is of.
void add_functions(Counted& counted, const wire::Message& reply, std::uint64_t total,
                   const Profile& profile, ProfilePaths paths) {
  const double net = counted.second_block_instructions;
  counted.functions = net_function_costs(profile, counted.iterations, total, net, reply);
  if (paths == ProfilePaths::kSeparate) {
    counted.call_tree =
        std::make_shared<const CallTree>(call_tree(profile, counted.iterations, net));
  }
}

Failure nothing_compiled() {
  return {FailureKind::kDefinitionError,
          "`compiles = true`, but the statement compiled nothing: Dynamo was not called, as by "
          "torch.compile(), or used what the setup had compiled"};
}

Outcome parse_counts(const wire::Message& reply, const Variant& variant, const Profile* profile,
                     ProfilePaths paths) {
  auto iterations = parse_field(reply, "iterations");
  auto first = parse_field(reply, "ir_1");
  auto second = parse_field(reply, "ir_2");
  auto loop = parse_field(reply, "loop_ir");
  auto loop_entry = parse_field(reply, "loop_entry_ir");
  if (reply.verb != "measured" || iterations.value_or(0) == 0 || !first || !second || !loop ||
      !loop_entry) {
    return malformed(reply);
  }
  Counted counted;
  counted.iterations = *iterations;
  counted.warmup = parse_field(reply, "warmup").value_or(0);
  // For a single expensive iteration no double is counted, unless something is simulated.
  const std::uint64_t doubled = *iterations == 1 ? 0 : parse_field(reply, "double_ir").value_or(0);
  const std::uint64_t entry = entry_cost(*second, doubled, *loop_entry);
  const auto net = [&](std::uint64_t total) {
    return per_iteration(total, entry + *loop * *iterations, *iterations);
  };
  counted.first_block_instructions = net(*first);
  counted.second_block_instructions = net(*second);
  if (counted.second_block_instructions < 0) return negative(counted.second_block_instructions);
  counted.steady = reply.get("steady") == "1";
  counted.changes_state = reply.get("changes_state") == "1";
  counted.gated = is_gated(variant) && reply.get("has_threads") != "1";
  counted.metrics[kInstructions] = counted.second_block_instructions;
  add_allocations(counted, reply);
  if (is_on_cuda(variant)) add_device_events(counted, reply);
  add_simulated(counted.metrics, net_events(reply, *iterations));
  if (variant.compiles) {
    const auto compile = parse_field(reply, "compile_ir").value_or(0);
    if (compile == 0) return nothing_compiled();
    counted.metrics[kCompileInstructions] = static_cast<double>(compile);
  }
  if (profile == nullptr) return counted;
  if (variant.threads == 1) {  // several threads run on while the profile is taken
    if (auto failure = check_profile(*profile, *second, reply)) return *std::move(failure);
  }
  if (!is_on_cuda(variant)) {
    add_functions(counted, reply, *second, *profile, paths);
    return counted;
  }
  Profile host = *profile;
  const std::uint64_t stand_ins = remove_stand_ins(host);
  subtract_instructions(counted, per_iteration(stand_ins, 0, *iterations));
  add_functions(counted, reply, *second - stand_ins, host, paths);
  return counted;
}

}  // namespace

CompilerReport parse_compiler_report(std::string_view json, const Variant& variant) {
  JsonReader reader;
  const auto parsed = reader.read(json);
  if (!parsed) return {};
  CompilerReport report{.graph_breaks = parse_notes(*parsed, "breaks", variant),
                        .recompilations = parse_notes(*parsed, "recompiles", variant),
                        .counters = counters_from(*parsed)};
  for (const auto& [name, count] : unlowered_from(*parsed))
    report.unlowered[printable(name)] = count;
  for (GraphChoice& choice : choices_from(*parsed)) {
    choice.chosen = printable(choice.chosen);
    for (auto& [name, reason] : choice.failures) {
      reason = shorten_end(printable(reason), kMaxReasonLength);
    }
    report.choices.push_back(std::move(choice));
  }
  return report;
}

double per_iteration(std::uint64_t total, std::uint64_t around, std::uint64_t iterations) {
  auto net = static_cast<std::int64_t>(total) - static_cast<std::int64_t>(around);
  return static_cast<double>(net) / static_cast<double>(iterations);
}

std::vector<FunctionCost> function_costs(const Profile& profile, std::uint64_t iterations) {
  const auto ir = profile.find_event("Ir");
  if (!ir || iterations == 0) return {};
  struct Totals {
    std::vector<std::uint64_t> self;
    std::uint64_t calls = 0;
  };
  std::map<FunctionName, Totals> totals;
  std::vector<FunctionName> names;
  for (const auto& function : profile.functions) {
    Totals& sum = totals[names.emplace_back(make_name(function))];
    sum.self.resize(profile.events.size());
    for (std::size_t i = 0; i < sum.self.size(); ++i) sum.self[i] += function.self[i];
    sum.calls += function.calls;
  }
  std::vector<FunctionCost> costs;
  for (const auto& [name, sum] : totals) {
    if (sum.self[*ir] == 0) continue;
    FunctionCost& cost = costs.emplace_back(
        FunctionCost{name.first, name.second, per_iteration(sum.self[*ir], 0, iterations),
                     per_iteration(sum.calls, 0, iterations)});
    for (std::size_t i = 0; i < sum.self.size(); ++i) {
      if (i == *ir || sum.self[i] == 0) continue;
      cost.events[profile.events[i]] = per_iteration(sum.self[i], 0, iterations);
    }
  }
  std::stable_sort(costs.begin(), costs.end(),
                   [](const auto& left, const auto& right) { return left.ir > right.ir; });
  add_callees(costs, profile, names, *ir, iterations);
  return costs;
}

Outcome parse_reply(const wire::Message& reply, const Variant& variant, const Profile* profile,
                    ProfilePaths paths) {
  if (reply.verb == "failed") return parse_failure(reply, variant);
  if (reply.verb == "timed" || reply.verb == "experimented") return parse_times(reply, variant);
  return parse_counts(reply, variant, profile, paths);
}

bool may_work_alone(const wire::Message& reply, const Variant& variant) {
  if (reply.verb != "failed") return false;
  const bool was_full = failure_kind_from(reply.get("kind")) == FailureKind::kOutOfMemory;
  return reply.get("part") == "setup" || was_full || variant.device != "cpu";
}

std::optional<Failure> failure_of_status(int wait_status) {
  if (!WIFSIGNALED(wait_status)) {
    return Failure{FailureKind::kExited, "the snippet ended the process with exit status " +
                                             std::to_string(WEXITSTATUS(wait_status))};
  }
  int signal = WTERMSIG(wait_status);
  if (signal == SIGKILL) return std::nullopt;
  auto kind = signal == SIGABRT ? FailureKind::kAborted : FailureKind::kCrashed;
  return Failure{kind, std::string("ended by a signal: ") + ::strsignal(signal)};
}

Outcome with_files(Outcome outcome, const std::vector<std::filesystem::path>& files) {
  for (const std::filesystem::path& file : files) {
    const auto checked = check_measured(
        "a library or module that was loaded", file,
        "have it found relative to the definition's file, as by {./}, or install it in each tree");
    if (!checked) return Failure{FailureKind::kDefinitionError, to_string(checked.error())};
  }
  if (auto* counted = std::get_if<Counted>(&outcome)) counted->files = files;
  return outcome;
}

}  // namespace instr
