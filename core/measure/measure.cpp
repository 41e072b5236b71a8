#include "core/measure/measure.h"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <sstream>
#include <tuple>
#include <utility>

#include "core/compile/cpp/missing_symbol.h"
#include "core/definitions/backends.h"
#include "core/definitions/metrics.h"
#include "core/measure/compiler_report.h"
#include "core/measure/dump.h"
#include "core/measure/failure_text.h"
#include "core/profile/function_names.h"
#include "core/results/simulation.h"

namespace instr {

namespace {

constexpr int kMaxEntryCost = 64;            // instructions, on top of the empty loop's
constexpr std::size_t kMaxNameLength = 180;  // file systems allow 255 bytes

std::optional<std::uint64_t> number(const wire::Message& reply, const char* name) {
  std::string text = reply.get(name);
  std::uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || text.empty() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

double per_iteration(std::uint64_t total, std::uint64_t around, std::uint64_t iterations) {
  // Signed: a statement that the compiler removed may cost a little less than the empty loop.
  auto net = static_cast<std::int64_t>(total) - static_cast<std::int64_t>(around);
  return static_cast<double>(net) / static_cast<double>(iterations);
}

// Instructions per iteration, net of the empty loop, of blocks of `iterations`.
struct NetCost {
  std::uint64_t iterations, doubled, loop, loop_entry;

  double operator()(std::uint64_t total) const {
    return per_iteration(total, entry(total) + loop * iterations, iterations);
  }

  // The cost of entering a block differs by an instruction or two between snippets, depending on
  // the registers that they use. A block of twice the iterations also has it only once.
  std::uint64_t entry(std::uint64_t total) const {
    std::uint64_t found = 2 * total - doubled;  // far beyond kMaxEntryCost if it is negative
    // For a single expensive iteration no double is counted, unless something is simulated.
    bool is_entry = iterations > 1 && doubled != 0 && found <= loop_entry + kMaxEntryCost;
    // Anything beyond is not entry cost: later iterations differed from earlier ones.
    return is_entry ? found : loop_entry;
  }
};

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

// Numbers separated by spaces; 0 for anything else.
std::vector<double> numbers_of(const std::string& text) {
  std::vector<double> numbers;
  for (const std::string& word : words_of(text))
    numbers.push_back(std::strtod(word.c_str(), nullptr));
  return numbers;
}

// The values of a field of the reply for each event, by Callgrind's names of them.
std::map<std::string, double> totals_of(const wire::Message& reply, const char* field) {
  auto names = words_of(reply.get("events"));
  auto numbers = numbers_of(reply.get(field));
  std::map<std::string, double> totals;
  for (std::size_t i = 0; i < std::min(names.size(), numbers.size()); ++i) {
    totals[names[i]] = numbers[i];
  }
  return totals;
}

// Events per iteration, net of the empty loop. The misses of a block's first iterations, which
// start with cold caches, are also in one of twice the length: the difference of the two is the
// steady state.
std::map<std::string, double> events_of(const wire::Message& reply, std::uint64_t iterations) {
  auto once = totals_of(reply, "events_2");
  auto doubled = totals_of(reply, "double_events");
  auto loop = totals_of(reply, "loop_events");
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

// The one call of the function that runs the loop does not belong to an iteration. `loop`: the
// instructions, `events`: the other costs of the empty loop, per iteration.
void take_off_loop(std::vector<FunctionCost>& functions, double loop,
                   const std::map<std::string, double>& events) {
  for (auto& function : functions) {
    if (!runs_loop(function.function)) continue;
    function.ir -= loop;
    for (auto& [name, count] : function.events) {
      if (auto found = events.find(name); found != events.end()) count -= found->second;
    }
    if (is_snippet_symbol(function.function)) function.calls = 0;
    return;
  }
}

// Callgrind gives the same number in two ways: the total of a block, and the sum over the functions
// that it ran. With simulation, one of them includes the few instructions that start the
// collection, and masked loads and stores (vmaskmov) are charged to their function as instructions:
// still, the sum of instructions and accesses is the same.
std::optional<Failure> check_profile(const Profile& profile, std::uint64_t ir,
                                     const wire::Message& reply) {
  auto totals = totals_of(reply, "events_2");
  double counted = static_cast<double>(ir);
  double held = static_cast<double>(total_of(profile, "Ir"));
  for (const char* access : {"Dr", "Dw"}) {
    auto found = totals.find(access);
    if (found == totals.end()) continue;
    counted += found->second;
    held += static_cast<double>(total_of(profile, access));
  }
  bool is_simulated = totals.size() > 1;
  if (std::abs(held - counted) <= (is_simulated ? kMaxEntryCost : 0)) return std::nullopt;
  return Failure{FailureKind::kNoProfile,
                 fmt::format("the profile holds {:.0f} instructions{}, but {:.0f} were counted",
                             held, is_simulated ? " and accesses" : "", counted)};
}

// Self costs per iteration, adding up to `net`, in a block of `total` instructions.
std::vector<FunctionCost> net_functions_of(const Profile& profile, std::uint64_t iterations,
                                           std::uint64_t total, double net,
                                           const wire::Message& reply) {
  auto functions = functions_of(profile, iterations);
  take_off_loop(functions, per_iteration(total, 0, iterations) - net,
                totals_of(reply, "loop_events"));
  if (std::uint64_t held = total_of(profile, "Ir"); held != total) {
    functions.push_back(
        {"(miscounted by the simulation)", "", per_iteration(total, held, iterations), 0});
  }
  return functions;
}

// For an error in the definition the worker names no part: the error is about the signature, unless
// it is about the TorchScript text.
std::string text_of(FailureKind kind, const wire::Message& reply, const Variant& variant) {
  if (kind == FailureKind::kWorkerLost || kind == FailureKind::kNoProfile) {
    return reply.get("message");
  }
  std::string message = failure_text(reply.get("message"), reply.get("part"), variant,
                                     static_cast<int>(number(reply, "line").value_or(0)));
  const bool has_place = message != reply.get("message");
  if (has_place || kind != FailureKind::kDefinitionError) return message;
  const std::string readable = explain_loader_message(message);
  SourceLocation where = variant.signature ? variant.signature->where : variant.where;
  if (readable != message && variant.build) where = variant.build->where;
  const std::string place = to_string(where);
  return place.empty() ? readable : place + ": " + readable;
}

Outcome failure_of(const wire::Message& reply, const Variant& variant) {
  auto kind = failure_kind_from(reply.get("kind"));
  if (!kind) {
    return Failure{FailureKind::kWorkerLost,
                   "unknown failure '" + reply.get("kind") + "': " + reply.get("message")};
  }
  if (*kind == FailureKind::kUnsupported) return Skipped{reply.get("message")};
  return Failure{*kind, text_of(*kind, reply, variant)};
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
    "frames",           "fused",  "frames_compiled", "fallbacks",      "bailouts"};

// `timed`, and `experimented`, a superset of it.
Outcome timed_of(const wire::Message& reply, const Variant& variant) {
  Timing timing;
  for (const Metric& metric : kTimeMetrics) {
    const bool is_of_repetitions =
        metric.statistic != Statistic::kNone && metric.group != MetricGroup::kStart;
    if (!is_of_repetitions || !reply.fields.contains(metric.name)) continue;
    timing.values[metric.name] = numbers_of(reply.get(metric.name));
  }
  timing.iterations = number(reply, "iterations").value_or(0);
  timing.device_peak_bytes = number(reply, "device_peak_bytes");
  if (reply.fields.contains("others")) {
    timing.others = std::strtod(reply.get("others").c_str(), nullptr);
  }
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
  if (auto said = reply.fields.find("compiler"); said != reply.fields.end()) {
    timed.compiler = compiler_report_of(said->second, variant);
  }
  timed.operators = times_by_operator(parse_calls(reply.get("events")));
  return timed;
}

std::uint32_t short_hash(const std::string& text) {  // FNV-1a
  std::uint32_t hash = 2166136261U;
  for (unsigned char c : text) hash = (hash ^ c) * 16777619U;
  return hash;
}

}  // namespace

bool is_gated(const Variant& variant) {
  return variant.threads == 1 && !is_compiled(variant.backend);
}

std::uint64_t total_of(const Profile& profile, std::string_view event) {
  auto index =
      std::find(profile.events.begin(), profile.events.end(), event) - profile.events.begin();
  std::uint64_t sum = 0;
  if (index == std::ssize(profile.events)) return sum;
  for (const auto& function : profile.functions) {
    sum += function.self[static_cast<std::size_t>(index)];
  }
  return sum;
}

namespace {

using FunctionName = std::pair<std::string, std::string>;  // and its object

FunctionName name_of(const ProfileFunction& function) {
  return {without_hashes(function.function),
          std::filesystem::path(function.object).filename().string()};
}

// Adds the calls among these functions. `names`: of the profile's functions.
void add_callees(std::vector<FunctionCost>& functions, const Profile& profile,
                 const std::vector<FunctionName>& names, std::size_t event,
                 std::uint64_t iterations) {
  std::map<FunctionName, std::size_t> places;
  for (std::size_t i = 0; i < functions.size(); ++i) {
    places[{functions[i].function, functions[i].object}] = i;
  }
  std::vector<std::optional<std::size_t>> place_of;
  for (const FunctionName& name : names) {
    const auto found = places.find(name);
    place_of.push_back(found == places.end() ? std::nullopt : std::optional(found->second));
  }
  std::map<std::pair<std::size_t, std::size_t>, std::pair<std::uint64_t, std::uint64_t>> sums;
  for (const ProfileCalls& calls : profile.calls) {
    const auto caller = place_of[calls.caller];
    const auto callee = place_of[calls.callee];
    if (!caller || !callee) continue;
    auto& [count, cost] = sums[{*caller, *callee}];
    count += calls.count;
    cost += calls.cost[event];
  }
  for (const auto& [pair, sum] : sums) {
    functions[pair.first].callees.push_back({pair.second, per_iteration(sum.first, 0, iterations),
                                             per_iteration(sum.second, 0, iterations)});
  }
}

}  // namespace

std::vector<FunctionCost> functions_of(const Profile& profile, std::uint64_t iterations) {
  auto event =
      std::find(profile.events.begin(), profile.events.end(), "Ir") - profile.events.begin();
  if (event == std::ssize(profile.events) || iterations == 0) return {};
  struct Totals {
    std::vector<std::uint64_t> self;
    std::uint64_t calls = 0;
  };
  const auto ir = static_cast<std::size_t>(event);
  std::map<FunctionName, Totals> totals;
  std::vector<FunctionName> names;
  for (const auto& function : profile.functions) {
    Totals& sum = totals[names.emplace_back(name_of(function))];
    sum.self.resize(profile.events.size());
    for (std::size_t i = 0; i < sum.self.size(); ++i) sum.self[i] += function.self[i];
    sum.calls += function.calls;
  }
  std::vector<FunctionCost> costs;
  for (const auto& [name, sum] : totals) {
    if (sum.self[ir] == 0) continue;
    FunctionCost& cost = costs.emplace_back(FunctionCost{name.first, name.second,
                                                         per_iteration(sum.self[ir], 0, iterations),
                                                         per_iteration(sum.calls, 0, iterations)});
    for (std::size_t i = 0; i < sum.self.size(); ++i) {
      if (i == ir || sum.self[i] == 0) continue;
      cost.events[profile.events[i]] = per_iteration(sum.self[i], 0, iterations);
    }
  }
  std::stable_sort(costs.begin(), costs.end(),
                   [](const auto& left, const auto& right) { return left.ir > right.ir; });
  add_callees(costs, profile, names, ir, iterations);
  return costs;
}

Outcome outcome_of(const wire::Message& reply, const Variant& variant, const Profile* profile,
                   ProfilePaths paths) {
  if (reply.verb == "failed") return failure_of(reply, variant);
  if (reply.verb == "timed" || reply.verb == "experimented") return timed_of(reply, variant);
  auto iterations = number(reply, "iterations");
  auto first = number(reply, "ir_1");
  auto second = number(reply, "ir_2");
  auto loop = number(reply, "loop_ir");
  auto loop_entry = number(reply, "loop_entry_ir");
  if (reply.verb != "measured" || !iterations || *iterations == 0 || !first || !second || !loop ||
      !loop_entry) {
    return malformed(reply);
  }
  Counted counted;
  counted.iterations = *iterations;
  counted.warmup = number(reply, "warmup").value_or(0);
  NetCost net{*iterations, number(reply, "double_ir").value_or(0), *loop, *loop_entry};
  counted.first_block_instructions = net(*first);
  counted.second_block_instructions = net(*second);
  if (counted.second_block_instructions < 0) return negative(counted.second_block_instructions);
  counted.steady = *first == *second && reply.get("steady") == "1";
  counted.changes_state = reply.get("changes_state") == "1";
  counted.gated = is_gated(variant);
  counted.metrics[kInstructions] = counted.second_block_instructions;
  const auto of_loop = [&reply](const char* field) { return number(reply, field).value_or(0); };
  for (const auto& [metric, field, loop_field] :
       {std::tuple{"allocs", "allocs_2", "loop_allocs"},
        {"alloc_bytes", "alloc_bytes_2", "loop_alloc_bytes"}}) {
    if (auto total = number(reply, field)) {
      counted.metrics[metric] = per_iteration(*total, of_loop(loop_field), *iterations);
    }
  }
  if (auto peak = number(reply, "peak_bytes")) {
    const std::uint64_t loop_peak = std::min(*peak, of_loop("loop_peak_bytes"));
    counted.metrics["peak_bytes"] = static_cast<double>(*peak - loop_peak);
  }
  add_simulated(counted.metrics, events_of(reply, *iterations));
  if (profile != nullptr) {
    // Several threads run on while one of the two is taken.
    const auto failure =
        variant.threads == 1 ? check_profile(*profile, *second, reply) : std::nullopt;
    if (failure) return *failure;
    counted.functions =
        net_functions_of(*profile, *iterations, *second, counted.second_block_instructions, reply);
    if (paths == ProfilePaths::kSeparate) {
      counted.call_tree = std::make_shared<const CallTree>(
          call_tree(*profile, *iterations, counted.second_block_instructions));
    }
  }
  return counted;
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

std::string profile_file_name(const std::string& key) {
  return file_name_of(key) + ".callgrind.out";
}

std::string file_name_of(const std::string& key) {
  std::string name;
  bool is_plain = key.size() <= kMaxNameLength;
  for (char c : key.substr(0, kMaxNameLength)) {
    bool is_kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                   c == '_' || c == '=' || c == '+' || c == '-';
    name += is_kept ? c : c == '/' ? '.' : '_';
    is_plain = is_plain && (is_kept || c == '/');
  }
  if (!is_plain) {
    char hash[9];
    std::snprintf(hash, sizeof hash, "%08x", short_hash(key));
    name += std::string("~") + hash;
  }
  return name;
}

}  // namespace instr
