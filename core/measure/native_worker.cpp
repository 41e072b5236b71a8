#include "core/measure/native_worker.h"

#include <utility>

#include "core/base/phase.h"
#include "core/measure/zygote_pool.h"

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

}  // namespace instr
