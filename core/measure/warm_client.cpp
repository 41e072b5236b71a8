#include "core/measure/warm_client.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "core/base/environment.h"
#include "core/base/process.h"
#include "core/measure/warm_address.h"

namespace instr {

namespace {

constexpr std::chrono::milliseconds kRetryInterval{20};
constexpr int kMaxLooks = 250;  // checks until an old warm worker has left its address
constexpr int kMaxStartAttempts = 2;
constexpr std::chrono::seconds kPatience{10};  // the limit of requests that are answered at once

// Starts a warm worker, which listens when this returns: it inherits the socket.
Expected<void> start_at(const std::string& address, const std::string& word) {
  TRY_ASSIGN(auto listening, listen_at(address));
  SpawnOptions spawn;
  spawn.argv = {own_program(), "warm", "serve", word};
  spawn.working_directory = "/";
  spawn.descriptors = {{listening.get(), kWarmListeningFd}};
  return Process::spawn(spawn).map([](Process&& process) {
    // If it ends before this program, it is reaped here.
    std::thread([started = std::move(process)]() mutable { started.wait(); }).detach();
  });
}

Expected<Link> find_or_start(const std::string& word) {
  const std::string address = warm_address(word);
  Expected<void> started;
  for (int i = 0; i < kMaxLooks; ++i) {
    if (auto link = connect_to(address)) return *std::move(link);
    started = start_at(address, word);
    // Another run has started one, or the old one is ending.
    if (!started) std::this_thread::sleep_for(kRetryInterval);
  }
  return fail(started ? Error{{}, "the warm worker does not reply", ""} : started.error());
}

class WarmZygotes : public ZygoteSource {
 public:
  WarmZygotes(const WarmPurpose& purpose, std::function<void(const std::string&)> tell)
      : options_(purpose.options), word_(encode(purpose)), tell_(std::move(tell)) {}

  Expected<wire::Message> hello() override {
    std::string why;
    for (int attempt = 0; attempt < kMaxStartAttempts && !is_killed(); ++attempt) {
      auto link = find_or_start(word_);
      auto reply = link.and_then([this](Link& opened) { return ask(opened, {"hello", {}}); });
      if (reply && reply->verb == "hello") return *std::move(reply);
      why = !reply                   ? to_string(reply.error())
            : reply->verb == "stale" ? reply->get("file") + " has changed"
                                     : reply->get("message");
    }
    if (is_killed()) return fail("interrupted");
    tell_("no warm worker serves this run: " + why);
    return start_own();
  }

  Expected<std::shared_ptr<WorkerProcess>> zygote(WarmUp which) override {
    if (own_) return fork_zygote(own_, which);
    TRY_ASSIGN(auto link, find_or_start(word_));
    TRY_ASSIGN(auto ends, Link::make());
    TRY_ASSIGN(auto reply, ask(link, {"zygote", {{"kind", to_string(which)}}}, ends.second.get()));
    const pid_t pid = std::atoi(reply.get("pid").c_str());
    if (reply.verb != "forked" || pid <= 0) return fail(reply.get("message"));
    auto zygote = WorkerProcess::borrow(
        std::move(ends.first), {pid, reply.get("log"), options_.program.file, std::move(link)});
    std::lock_guard lock(mutex_);
    if (is_killed_) return fail("interrupted");
    borrowed_.push_back(zygote);
    return zygote;
  }

  void kill() override {
    std::lock_guard lock(mutex_);
    is_killed_ = true;
    for (Link* link : waiting_) link->abort();
    for (const auto& each : borrowed_) {
      if (auto zygote = each.lock()) zygote->abort();
    }
    if (own_) own_->kill();
  }

 private:
  bool is_killed() const {
    std::lock_guard lock(mutex_);
    return is_killed_;
  }

  Expected<wire::Message> start_own() {
    TRY_ASSIGN(auto root, Root::start(options_));
    {
      std::lock_guard lock(mutex_);
      if (is_killed_) return fail("interrupted");
      own_ = root;
    }
    return root->await_hello();
  }

  // Waits until the warm worker replies or ends, or kill() is called.
  Expected<wire::Message> ask(Link& link, const wire::Message& request, int passed = -1) {
    {
      std::lock_guard lock(mutex_);
      if (is_killed_) return fail("interrupted");
      waiting_.insert(&link);
    }
    auto reply = link.request(request, Link::forever(), passed);
    std::lock_guard lock(mutex_);
    waiting_.erase(&link);
    if (!reply) return fail(to_string(reply.error()));
    return *std::move(reply);
  }

  const WorkerOptions options_;
  const std::string word_;
  const std::function<void(const std::string&)> tell_;
  std::shared_ptr<Root> own_;  // used without a warm worker; set before the first zygote request
  mutable std::mutex mutex_;
  std::set<Link*> waiting_;
  std::vector<std::weak_ptr<WorkerProcess>> borrowed_;
  bool is_killed_ = false;
};

std::optional<wire::Message> ask_at(const std::string& address, const wire::Message& request) {
  auto link = connect_to(address);
  if (!link) return std::nullopt;
  auto reply = link->request(request, {kPatience});
  if (!reply) return std::nullopt;
  return *std::move(reply);
}

}  // namespace

StartSource warm_workers(WorkerOptions options, FindWorker find_worker,
                         std::function<void(const std::string& what)> tell) {
  return [options = std::move(options), find_worker = std::move(find_worker),
          tell = std::move(tell)](Language language) -> Expected<std::shared_ptr<ZygoteSource>> {
    TRY_ASSIGN(auto worker, options_for(language, options, find_worker));
    return std::make_shared<WarmZygotes>(WarmPurpose{language, std::move(worker)}, tell);
  };
}

std::vector<WarmStatus> warm_status() {
  std::vector<WarmStatus> all;
  for (const std::string& address : warm_addresses()) {
    const auto reply = ask_at(address, {"status", {}});
    if (!reply || reply->verb != "status") continue;
    const auto number = [&reply](const char* field) {
      return std::atoi(reply->get(field).c_str());
    };
    all.push_back({number("pid"), number("is_used") != 0, std::chrono::seconds(number("idle_s")),
                   reply->get("libtorch_version"),
                   find_language(reply->get("language")).value_or(Language::kCpp)});
  }
  return all;
}

int stop_warm_workers() {
  const auto addresses = warm_addresses();
  return static_cast<int>(
      std::count_if(addresses.begin(), addresses.end(), [](const auto& address) {
        const auto reply = ask_at(address, {"stop", {}});
        return reply && reply->verb == "stopping";
      }));
}

}  // namespace instr
