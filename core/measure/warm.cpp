#include "core/measure/warm.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>
#include <utility>

#include "core/base/content_hash.h"
#include "core/base/environment.h"
#include "core/base/private_folder.h"
#include "core/base/read_file.h"
#include "core/compile/source_writer.h"
#include "core/measure/loaded_files.h"

namespace instr {

namespace {

constexpr int kBacklog = 64;

std::string name_prefix() { return fmt::format("instr_bench-warm-{}-", ::geteuid()); }

// Identifies this program, which may have been rebuilt, and its namespaces, outside which numbers
// of processes and paths mean something else.
std::string identify_program() {
  std::error_code ignored;
  struct stat program {};
  ::stat("/proc/self/exe", &program);
  return fmt::format("{} {} {} {} {}", fs::read_symlink("/proc/self/ns/mnt", ignored).string(),
                     fs::read_symlink("/proc/self/ns/pid", ignored).string(), program.st_dev,
                     program.st_ino, program.st_ctim.tv_sec);
}

// Returns the abstract name, and its size: it is not terminated.
std::pair<sockaddr_un, socklen_t> socket_address(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t size = std::min(name.size(), sizeof address.sun_path - 1);
  std::memcpy(address.sun_path + 1, name.data(), size);
  return {address, static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size)};
}

Fd make_socket() { return Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

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

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kIdleCheckInterval{200};

timespec now() {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return time;
}

// Returns the user on the other side of a connection.
std::optional<uid_t> peer_user(int connection) {
  ucred other{};
  socklen_t size = sizeof other;
  if (::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &other, &size) != 0) return std::nullopt;
  return other.uid;
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
    const auto* which = std::ranges::find(kWarmUps, kind, &WarmUpFacts::name);
    if (which == kWarmUps.end() || !socket) return failed("unknown kind of zygote: " + kind);
    Kept& kept = kept_[static_cast<std::size_t>(which - kWarmUps.begin())];
    std::lock_guard turn(kept.turn);
    if (!kept.zygote) {
      auto made = fork_zygote(root_, static_cast<WarmUp>(which - kWarmUps.begin()));
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
  std::array<Kept, kWarmUps.size()> kept_;
  std::mutex mutex_;  // guards all below
  std::condition_variable closed_;
  int connections_ = 0;
  int users_ = 0;
  Clock::time_point last_used_ = Clock::now();
  bool is_over_ = false;
};

}  // namespace

std::string encode(const WarmPurpose& purpose) {
  const WorkerOptions& options = purpose.options;
  const WorkerProgram& program = options.program;
  std::string word =
      wire::encode({"warm",
                    {{"worker", program.file.string()},
                     {"command", fmt::format("{}", fmt::join(program.command, "\n"))},
                     {"environment", fmt::format("{}", fmt::join(program.environment, "\n"))},
                     {"folder", program.working_directory.string()},
                     {"valgrind", options.valgrind.string()},
                     {"valgrind_tools", options.valgrind_tools.string()},
                     {"language", to_string(purpose.language)},
                     {"cache_sim", options.simulation.cache ? "1" : "0"},
                     {"branch_sim", options.simulation.branch ? "1" : "0"},
                     {"cores", fmt::format("{}", fmt::join(usable_cores(), " "))}}});
  word.pop_back();
  return word;
}

Expected<WarmPurpose> parse_purpose(const std::string& word) {
  const auto message = wire::decode(word);
  const auto language = find_language(message ? message->get("language") : "");
  if (!message || message->verb != "warm" || !language)
    return fail("malformed purpose of a warm worker: '" + word + "'");
  WorkerOptions options;
  options.program = {message->get("worker"), to_lines(message->get("command")),
                     to_lines(message->get("environment")), message->get("folder")};
  options.valgrind = message->get("valgrind");
  options.valgrind_tools = message->get("valgrind_tools");
  options.simulation = {message->get("cache_sim") == "1", message->get("branch_sim") == "1"};
  return WarmPurpose{*language, std::move(options)};
}

std::string warm_address(const std::string& word) {
  return name_prefix() + content_hash(word + "\n" + identify_program());
}

std::vector<std::string> warm_addresses() {
  std::istringstream lines(read_file("/proc/net/unix", kMaxTextBytes).value_or(""));
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    const auto at = line.find("@" + name_prefix());
    if (at != std::string::npos) names.push_back(line.substr(at + 1));
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());  // connections have it, too
  return names;
}

Expected<Fd> listen_at(const std::string& address) {
  Fd socket = make_socket();
  const auto [where, size] = socket_address(address);
  if (!socket || ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&where), size) != 0 ||
      ::listen(socket.get(), kBacklog) != 0) {
    return fail(std::string("cannot listen: ") + std::strerror(errno));
  }
  return socket;
}

std::optional<Link> connect_to(const std::string& address) {
  Fd socket = make_socket();
  const auto [where, size] = socket_address(address);
  if (!socket || ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&where), size) != 0) {
    return std::nullopt;
  }
  if (peer_user(socket.get()) != ::geteuid()) return std::nullopt;
  return Link(std::move(socket));
}

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
