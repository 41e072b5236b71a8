#include "core/measure/warm_service.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "core/base/private_folder.h"
#include "core/measure/loaded_libraries.h"
#include "core/measure/warm_address.h"
#include "core/measure/zygote_pool.h"

namespace instr {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kIdleCheckInterval{200};

timespec now() {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return time;
}

class WarmService {
 public:
  WarmService(Fd listening, std::shared_ptr<Root> root, Language language, timespec started)
      : listening_(std::move(listening)),
        root_(std::move(root)),
        language_(language),
        started_(started) {}

  // Returns when it takes no more runs, and all connections have ended.
  void serve(std::chrono::milliseconds idle_time) {
    while (!is_over(idle_time)) {
      pollfd watch{listening_.get(), POLLIN, 0};
      if (::poll(&watch, 1, static_cast<int>(kIdleCheckInterval.count())) <= 0) continue;
      Fd connection(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (connection && peer_user(connection.get()) == ::geteuid()) begin(std::move(connection));
    }
    std::unique_lock lock(mutex_);
    listening_.reset();  // the next run starts another
    closed_.wait(lock, [this] { return connections_ == 0; });
  }

 private:
  struct Kept {
    std::mutex turn;
    std::shared_ptr<WorkerProcess> zygote;
  };

  bool is_over(std::chrono::milliseconds idle_time) {
    std::lock_guard lock(mutex_);
    return is_over_ || (users_ == 0 && Clock::now() - last_used_ > idle_time);
  }

  // Makes it take no more runs.
  void end() {
    std::lock_guard lock(mutex_);
    is_over_ = true;
    ::shutdown(listening_.get(), SHUT_RDWR);
  }

  void begin(Fd connection) {
    std::lock_guard lock(mutex_);
    ++connections_;
    std::thread([this, link = Link(std::move(connection))]() mutable {
      answer_all(link);
      std::lock_guard ended(mutex_);
      --connections_;
      closed_.notify_all();  // the mutex is held: this object may be destroyed right after
    }).detach();
  }

  void answer_all(Link& link) {
    bool is_user = false;
    while (auto request = link.receive(Link::forever())) {
      const bool is_use = request->verb == "hello" || request->verb == "zygote";
      if (is_use && !std::exchange(is_user, true)) count_user(1);
      wire::Message reply = answer(*request, link.take_descriptor());
      reply.fields[wire::kToken] = request->get(wire::kToken);
      if (!link.send(reply)) break;
    }
    if (is_user) count_user(-1);
  }

  void count_user(int change) {
    std::lock_guard lock(mutex_);
    users_ += change;
    last_used_ = Clock::now();
  }

  wire::Message answer(const wire::Message& request, const Fd& socket) {
    if (request.verb == "hello") return hello();
    if (request.verb == "zygote") return lend(request.get("kind"), socket);
    if (request.verb == "status") return status();
    if (request.verb == "stop") return stop();
    return failed("unknown request: " + request.verb);
  }

  static wire::Message failed(std::string message) {
    return {"failed", {{"message", std::move(message)}}};
  }

  wire::Message hello() {
    std::lock_guard lock(start_);
    if (!hello_) {
      hello_ = root_->await_hello().and_then(check_hello);
      used_ = UsedFiles::of(root_->pid(), root_->worker(), started_);
    }
    const auto changed = root_->await_end({}) ? root_->worker() : used_.changed();
    if (!*hello_ || changed) end();
    if (!*hello_) return failed(to_string(hello_->error()));
    if (changed) return {"stale", {{"file", changed->string()}}};
    return **hello_;
  }

  // Forks the zygote of that kind, which is made if it is absent.
  wire::Message lend(const std::string& kind, const Fd& socket) {
    const auto* which = std::find(kWarmUpNames.begin(), kWarmUpNames.end(), kind);
    if (which == kWarmUpNames.end() || !socket) return failed("unknown kind of zygote: " + kind);
    Kept& kept = kept_[static_cast<std::size_t>(which - kWarmUpNames.begin())];
    std::lock_guard turn(kept.turn);
    if (!kept.zygote) {
      auto made = fork_zygote(root_, static_cast<WarmUp>(which - kWarmUpNames.begin()));
      if (!made) end();
      if (!made) return failed(to_string(made.error()));
      kept.zygote = *std::move(made);
    }
    const auto pid = kept.zygote->fork_onto(socket.get());
    if (!pid) end();
    if (!pid) return failed(std::string("the worker was lost: ") + to_string(pid.error()));
    return {"forked", {{"pid", std::to_string(*pid)}, {"log", kept.zygote->log().string()}}};
  }

  wire::Message status() {
    std::unique_lock starting(start_, std::try_to_lock);
    const bool has_started = starting && hello_ && *hello_;
    std::lock_guard lock(mutex_);
    const auto idle = users_ > 0 ? Clock::duration{} : Clock::now() - last_used_;
    const auto idle_s = std::chrono::duration_cast<std::chrono::seconds>(idle).count();
    return {"status",
            {{"pid", std::to_string(::getpid())},
             {"is_used", users_ > 0 ? "1" : "0"},
             {"idle_s", std::to_string(idle_s)},
             {"language", to_string(language_)},
             {"libtorch_version", has_started ? (*hello_)->get("libtorch_version") : ""}}};
  }

  wire::Message stop() {
    end();
    root_->kill();
    return {"stopping", {}};
  }

  Fd listening_;
  const std::shared_ptr<Root> root_;
  const Language language_;
  const timespec started_;
  std::mutex start_;  // guards the next two
  std::optional<Expected<wire::Message>> hello_;
  UsedFiles used_;
  std::array<Kept, kWarmUpNames.size()> kept_;
  std::mutex mutex_;  // guards all below
  std::condition_variable closed_;
  int connections_ = 0;
  int users_ = 0;
  Clock::time_point last_used_ = Clock::now();
  bool is_over_ = false;
};

}  // namespace

Expected<void> serve_warm(Fd listening, const std::string& word,
                          std::chrono::milliseconds idle_time) {
  ::signal(SIGHUP, SIG_IGN);  // outlives the terminal
  const timespec started = now();
  TRY_ASSIGN(auto purpose, parse_purpose(word));
  TRY_ASSIGN(const auto folder, PrivateFolder::make());
  purpose.options.work_dir = folder.path();
  TRY_ASSIGN(auto root, Root::start(purpose.options));
  WarmService(std::move(listening), std::move(root), purpose.language, started).serve(idle_time);
  return {};
}

}  // namespace instr
