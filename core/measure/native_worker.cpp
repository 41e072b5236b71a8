#include "core/measure/native_worker.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "core/base/environment.h"
#include "core/base/phase.h"
#include "core/definitions/axes.h"
#include "core/measure/zygote_pool.h"
#include "worker/wire.h"

namespace instr {

namespace {

constexpr int kLoadAttempts = 2;  // the unit is the cause of further losses

std::string lost_worker_message(const std::string& how) { return "the worker was lost: " + how; }

// `log`: the worker's output.
wire::Message load_failure(Loss loss, std::chrono::milliseconds limit, const std::string& log) {
  const std::string late = late_text(loss, limit);
  const auto kind = late.empty() ? FailureKind::kCrashed : FailureKind::kTimedOut;
  const auto message = late.empty() ? load_crash_text(loss, log) : "loading the unit was " + late;
  return {"failed", {{"kind", to_string(kind)}, {"message", message}}};
}

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

NativeWorker::NativeWorker(WorkerOptions options, PrivateFolder folder)
    : options_(std::move(options)), folder_(std::move(folder)) {}

Expected<std::unique_ptr<NativeWorker>> NativeWorker::start(WorkerProgram program) {
  TRY_ASSIGN(auto folder, PrivateFolder::make());
  WorkerOptions options{.program = std::move(program), .work_dir = folder.path()};
  std::unique_ptr<NativeWorker> worker(new NativeWorker(std::move(options), std::move(folder)));
  TRY_ASSIGN(worker->hello_, worker->bring_up());
  return worker;
}

// Starts a root in place of the old one.
Expected<wire::Message> NativeWorker::bring_up() {
  TRY_ASSIGN(auto started, Root::start(options_));
  std::shared_ptr<Root> old;  // ends after the mutex is released
  {
    std::lock_guard lock(mutex_);
    if (is_killed_) return fail("interrupted");
    old = std::exchange(root_, started);
  }
  return started->await_hello().and_then(check_hello);
}

std::shared_ptr<Root> NativeWorker::root() {
  std::lock_guard lock(mutex_);
  return root_;
}

void NativeWorker::kill() {
  std::lock_guard lock(mutex_);
  is_killed_ = true;
  if (root_) root_->kill();
}

// Forks the current root or, if that no longer answers, another one.
tl::expected<std::unique_ptr<WorkerProcess>, std::string> NativeWorker::fork_host() {
  if (auto host = WorkerProcess::fork(root())) return *std::move(host);
  if (auto started = bring_up(); !started) {
    return tl::unexpected(
        lost_worker_message("it could not be started again: " + to_string(started.error())));
  }
  return WorkerProcess::fork(root()).map_error(
      [](Loss loss) { return lost_worker_message(to_string(loss)); });
}

tl::expected<wire::Message, std::string> NativeWorker::ask(
    const std::set<std::filesystem::path>& units, const wire::Message& request,
    std::chrono::milliseconds limit) {
  tl::expected<std::unique_ptr<WorkerProcess>, std::string> host;
  Reply loaded = tl::unexpected(Loss::kClosed);
  std::string log;
  for (int i = 0; i < kLoadAttempts && !loaded && loaded.error() == Loss::kClosed; ++i) {
    host = fork_host();
    TRY(host);
    const auto log_begin = (*host)->log_size();
    loaded = load(**host, units, with_margin(limit));
    log = (*host)->log_since(log_begin);
  }
  if (!loaded) return load_failure(loaded.error(), with_margin(limit), log);
  if (loaded->verb != "loaded") return *std::move(loaded);
  return (*host)->request(request, with_margin(limit)).map_error([](Loss loss) {
    return lost_worker_message(to_string(loss));
  });
}

// Returns `loaded`, or the reply to the first unit that could not be loaded.
Reply NativeWorker::load(WorkerProcess& host, const std::set<std::filesystem::path>& units,
                         std::chrono::milliseconds limit) const {
  Reply reply = wire::Message{"loaded", {}};
  for (const auto& unit : units) {
    if (reply && reply->verb == "loaded")
      reply = host.request(load_request(options_.program.file, unit), limit);
  }
  return reply;
}

bool NativeLanguage::measure_each(const std::vector<Variant>& variants, const MeasureEvents& events,
                                  std::stop_token stop,
                                  const std::function<Measurement(const Variant&)>& measure) const {
  std::stop_callback end(stop, [this] { worker.kill(); });
  for (const Variant& variant : variants) {
    if (stop.stop_requested()) return false;
    events.on_start(variant.key);
    const Stopwatch watch;
    Measurement measurement = measure(variant);
    measurement.seconds = watch.seconds();
    if (!stop.stop_requested()) events.on_done(std::move(measurement));
  }
  return !stop.stop_requested();
}

void add_to(wire::Message& request, const CompilerOptions& options, const Variant& compiled) {
  request.fields["compiler"] = "1";
  request.fields["compiler_cache"] = options.cache.string();
  std::string& logs = request.fields.try_emplace("compiler_logs", options.logs).first->second;
  // Eager's first backward() prepares for the devices that exist by then.
  if (!facts_of(compiled.backend).is_on_xla) return;
  logs += " xla";
  request.fields["wants_events"] = "1";  // the operators left to LibTorch
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
