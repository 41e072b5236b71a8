#include "core/measure/timing_request.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

#include "core/base/environment.h"
#include "core/definitions/axes.h"
#include "worker/wire.h"

namespace instr {

namespace {

// Returns the last cores that this process may use: other processes tend to use the first ones.
std::string cores_for(int threads) {
  const std::vector<int> cores = usable_cores();
  const auto count = std::min<std::ptrdiff_t>(threads, std::ssize(cores));
  return fmt::format("{}", fmt::join(cores.end() - count, cores.end(), " "));
}

std::string list_timeouts(const TimedGroup& group, const TimerOptions& options) {
  std::string list;
  for (const auto& compiled : group) {
    const auto limit = timeout_of(time_limit(compiled.variant, options.config));
    list += fmt::format("{}{}", list.empty() ? "" : " ", limit.count());
  }
  return list;
}

}  // namespace

void add_to(wire::Message& request, const CompilerOptions& options, const Variant& compiled) {
  request.fields["compiler"] = "1";
  request.fields["compiler_cache"] = options.cache.string();
  std::string& logs = request.fields.try_emplace("compiler_logs", options.logs).first->second;
  // Eager's first backward() prepares for the devices that exist by then.
  if (facts_of(compiled.backend).is_on_xla) logs += " xla";
}

int fixed_iterations(const TimedGroup& group, const TimerOptions& options) {
  return options.config.iterations.value_or(group.front().variant.iterations.value_or(0));
}

std::chrono::milliseconds sum_timeouts(const TimedGroup& group, const TimerOptions& options) {
  double sum = 0;
  for (const auto& compiled : group) sum += time_limit(compiled.variant, options.config);
  return timeout_of(sum);
}

std::set<std::filesystem::path> units_of(const TimedGroup& group) {
  std::set<std::filesystem::path> units;
  for (const CompiledVariant& compiled : group) units.insert(compiled.unit);
  return units;
}

wire::Message make_timing_request(const char* verb, const TimedGroup& group,
                                  const TimerOptions& options) {
  const Variant& variant = group.front().variant;
  std::string symbols;
  for (const auto& compiled : group) symbols += (symbols.empty() ? "" : " ") + compiled.symbol;
  wire::Message request{verb,
                        {{"symbols", symbols},
                         {"device", variant.device},
                         {"threads", std::to_string(variant.threads)},
                         {"repetitions", std::to_string(options.config.repetitions)},
                         {"min_time", fmt::format("{}", options.config.min_time)},
                         {"iterations", std::to_string(fixed_iterations(group, options))},
                         {"dtype", find_default_type(variant)},
                         {"events", fmt::format("{}", fmt::join(options.config.events, " "))},
                         {"cores", cores_for(variant.threads)},
                         {"memory_limit", std::to_string(options.memory_limit)},
                         {"wants_events", options.config.wants_operators ? "1" : "0"},
                         {"timeouts_ms", list_timeouts(group, options)},
                         {"timeout_ms", std::to_string(sum_timeouts(group, options).count())}}};
  for (const auto& [candidate, unit, symbol] : group) {
    if (is_compiled(candidate.backend)) add_to(request, options.compiler, candidate);
  }
  return request;
}

std::optional<std::size_t> find_timed_out(const wire::Message& reply) {
  const bool is_timeout =
      reply.verb == "failed" && failure_kind_from(reply.get("kind")) == FailureKind::kTimedOut;
  if (!is_timeout || !reply.fields.contains("snippet")) return std::nullopt;
  return std::strtoul(reply.get("snippet").c_str(), nullptr, 10);
}

tl::expected<wire::Message, std::string> ask_worker(const char* verb, NativeWorker& worker,
                                                    const TimedGroup& group,
                                                    const TimerOptions& options) {
  return worker.ask(units_of(group), make_timing_request(verb, group, options),
                    sum_timeouts(group, options));
}

}  // namespace instr
