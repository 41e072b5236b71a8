#include "core/measure/worker_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "core/base/format.h"
#include "core/base/text.h"
#include "core/measure/loaded_files.h"
#include "core/results/fingerprint.h"

namespace instr {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxMessageLength = std::size_t{16} << 20;

// Returns a token of fixed length, since it is on the worker's heap for a while; empty if the
// system has no randomness.
std::string new_token() {
  std::uint64_t random = 0;
  if (::getrandom(&random, sizeof random, 0) != static_cast<ssize_t>(sizeof random)) return {};
  return fmt::format("{:016x}", random);
}

std::vector<std::string> worker_command(const WorkerOptions& options) {
  const std::vector<std::string>& program = options.program.command;
  if (options.is_native()) return program;
  const std::string profiles = (options.work_dir / wire::kProfilePrefix).string();
  std::vector<std::string> command{
      options.valgrind.string(), "--tool=callgrind",
      "--command-line-only=yes",  // no ~/.valgrindrc, no VALGRIND_OPTS
      "--quiet", "--vgdb=no", "--instr-atstart=no", "--collect-atstart=no",
      "--collect-systime=yes",  // a statement that makes system calls may depend on a clock
      "--callgrind-out-file=" + profiles + "%p",
      // A log per process: a worker's children read their counts there.
      "--log-file=" + profiles + "%p.log",
      "--num-callers=100",  // a launch is that far from the statement
  };
  for (auto& option : valgrind_options(options.simulation)) command.push_back(std::move(option));
  // Longer paths of calls, and deeper recursion, are counted as the longest and the deepest.
  if (options.call_paths) {
    command.insert(command.end(), {"--separate-callers=200", "--separate-recs=10"});
  }
  command.insert(command.end(), program.begin(), program.end());
  return command;
}

}  // namespace

const char* to_string(Loss loss) {
  switch (loss) {
    case Loss::kClosed: return "it ended";
    case Loss::kTimedOut: return "it did not answer within its CPU time";
    case Loss::kIdle: return "it did not answer, and was idle";
    case Loss::kGarbled: return "it sent something other than a reply";
  }
  return "";
}

std::string late_text(Loss loss, std::chrono::milliseconds limit) {
  if (loss == Loss::kTimedOut) return stopped_text(CpuVerdict::kUsedUp, limit.count());
  if (loss == Loss::kIdle) return stopped_text(CpuVerdict::kIdle, limit.count());
  return "";
}

std::string load_crash_text(Loss loss, const std::string& log) {
  return std::string("loading the unit ended the worker, twice: ") + to_string(loss) +
         (log.empty() ? "" : "\n" + log);
}

std::chrono::milliseconds timeout_of(double seconds) {
  return std::chrono::milliseconds(
      static_cast<std::int64_t>(std::clamp(seconds, 0.001, 1e9) * 1000));
}

std::chrono::milliseconds with_margin(std::chrono::milliseconds timeout) {
  return timeout + timeout / 2 + std::chrono::seconds(20);
}

Expected<std::pair<Link, Fd>> Link::make() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return fail(std::string("cannot make a socket: ") + std::strerror(errno));
  }
  return std::pair{Link(Fd(ends[0])), Fd(ends[1])};
}

bool Link::send(const wire::Message& message, int passed) {
  const std::string whole = wire::encode(message);
  std::string_view text = whole;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  while (!text.empty()) {
    iovec piece{const_cast<char*>(text.data()), text.size()};
    msghdr header{};
    header.msg_iov = &piece;
    header.msg_iovlen = 1;
    if (passed >= 0) {
      header.msg_control = control;
      header.msg_controllen = sizeof control;
      cmsghdr* rights = CMSG_FIRSTHDR(&header);
      rights->cmsg_level = SOL_SOCKET;
      rights->cmsg_type = SCM_RIGHTS;
      rights->cmsg_len = CMSG_LEN(sizeof(int));
      std::memcpy(CMSG_DATA(rights), &passed, sizeof passed);
    }
    ssize_t sent = ::sendmsg(socket_.get(), &header, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    passed = -1;  // sent only with the first piece
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

ssize_t Link::receive_some(char* buffer, std::size_t size) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  iovec piece{buffer, size};
  msghdr header{};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  const ssize_t count = ::recvmsg(socket_.get(), &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  const cmsghdr* rights = count < 0 ? nullptr : CMSG_FIRSTHDR(&header);
  if (rights == nullptr || rights->cmsg_type != SCM_RIGHTS) return count;
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(rights), sizeof descriptor);
  descriptor_ = Fd(descriptor);
  return count;
}

Reply Link::request(const wire::Message& message, const Patience& patience, int passed) {
  wire::Message sent = message;
  const std::string token = sent.fields[wire::kToken] = new_token();
  if (token.empty() || !send(sent, passed)) return tl::unexpected(Loss::kClosed);
  auto reply = receive(patience);
  if (!reply) return reply;
  if (reply->get(wire::kToken) != token) return tl::unexpected(Loss::kGarbled);
  reply->fields.erase(wire::kToken);
  return reply;
}

Reply Link::receive(const Patience& patience) {
  auto deadline = Clock::now() + patience.interval;
  std::size_t looked_at = 0;
  for (;;) {
    auto end = received_.find('\n', looked_at);
    if (end != std::string::npos) {
      auto message = wire::decode(std::string_view(received_).substr(0, end));
      received_.erase(0, end + 1);
      if (!message) return tl::unexpected(Loss::kGarbled);
      return *std::move(message);
    }
    if (received_.size() > kMaxMessageLength) return tl::unexpected(Loss::kGarbled);
    looked_at = received_.size();
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) {
      const CpuVerdict verdict = patience.look();
      if (verdict == CpuVerdict::kUsedUp) return tl::unexpected(Loss::kTimedOut);
      if (verdict == CpuVerdict::kIdle) return tl::unexpected(Loss::kIdle);
      deadline = Clock::now() + patience.interval;
      continue;
    }
    pollfd watch{socket_.get(), POLLIN, 0};
    int ready = ::poll(&watch, 1, static_cast<int>(std::min<decltype(left)>(left, 60'000)));
    if (ready <= 0) continue;
    char buffer[16384];
    ssize_t count = receive_some(buffer, sizeof buffer);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count <= 0) return tl::unexpected(Loss::kClosed);
    received_.append(buffer, static_cast<std::size_t>(count));
  }
}

void Link::hang_up() { ::shutdown(socket_.get(), SHUT_WR); }

void Link::abort() { ::shutdown(socket_.get(), SHUT_RDWR); }

namespace {

constexpr std::size_t kLogShown = 2000;  // characters of a log shown in a message

// Returns the descriptor and the name of a new log.
Expected<std::pair<Fd, fs::path>> open_log(const fs::path& folder) {
  std::string name = (folder / "worker.XXXXXX.log").string();
  Fd log(::mkostemps(name.data(), 4, O_APPEND | O_CLOEXEC));
  if (!log) {
    return fail("cannot write to " + folder.string() + ": " + std::strerror(errno),
                "free some space on that disk, or set TMPDIR");
  }
  return std::pair{std::move(log), fs::path(name)};
}

Expected<Fd> open_to_read(const fs::path& path, int flags = 0) {
  Fd descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags));
  if (!descriptor) return fail("cannot open " + path.string() + ": " + std::strerror(errno));
  return descriptor;
}

Expected<Fd> open_folder(const fs::path& folder) { return open_to_read(folder, O_DIRECTORY); }

// Returns advice about a limit that a worker inherits from this process and that can keep it from
// starting; empty if there is none.
std::string limit_advice() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "";
  return fmt::format(
      "the address space is limited to {} KiB, by 'ulimit -v': start from a shell without a limit",
      format_count(static_cast<double>(limit.rlim_cur >> 10)));
}

// Returns the last messages of Valgrind itself in its log, without the figures that the worker has
// it write there.
std::string valgrind_messages(const fs::path& log) {
  std::ifstream file(log, std::ios::binary);
  std::string messages;
  for (std::string line; std::getline(file, line);) {
    bool is_message =
        line.starts_with("==") || line.starts_with("--") || line.starts_with("valgrind:");
    if (is_message) messages += line + "\n";
    if (messages.size() > 2 * kLogShown) messages.erase(0, messages.find('\n', kLogShown) + 1);
  }
  return messages;
}

// The folder of Valgrind's tools, by a name as long as the usual one, /usr/libexec/valgrind: it is
// in the worker's memory, in LD_PRELOAD.
const std::string kValgrindTools =
    "VALGRIND_LIB=/proc/self/fd/" + std::to_string(wire::kValgrindToolsFd) + "/././.";

}  // namespace

Expected<Fd> pass_tools(const fs::path& tools, SpawnOptions& spawn) {
  if (tools.empty()) return Fd();
  TRY_ASSIGN(auto folder, open_folder(tools));
  spawn.environment->push_back(kValgrindTools);
  spawn.descriptors.emplace_back(folder.get(), wire::kValgrindToolsFd);
  return folder;
}

namespace {

using Use = CpuUse (*)(pid_t);  // CPU use of the process alone, or with its descendants

// Waits for a process until it reaches these limits.
Link::Patience while_within(const CpuLimits& limits, pid_t pid, Use use) {
  CpuWatch watch(limits, now_ms(), use(pid));
  const std::chrono::milliseconds interval(watch.interval_ms());
  return {interval, [=]() mutable { return watch.look(now_ms(), use(pid)); }};
}

}  // namespace

struct WorkerProcess::Started {
  std::optional<Process> process;  // the destructor kills the group; absent: another program's
  fs::path log;
  fs::path worker;
  bool is_native;
  std::chrono::milliseconds idle_limit;
  std::optional<Link> lender = {};

  std::uintmax_t log_size() const {
    std::error_code problem;
    auto size = fs::file_size(log, problem);
    return problem ? 0 : size;
  }

  std::string read(std::uintmax_t begin, std::uintmax_t size) const {
    std::ifstream file(log, std::ios::binary);
    std::string text(static_cast<std::size_t>(size), '\0');
    file.seekg(static_cast<std::streamoff>(begin));
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(file.gcount()));
    return text;
  }

  std::string written_since(std::uintmax_t begin) const {
    auto size = log_size();
    if (size <= begin) return {};
    if (size - begin <= kLogShown) return read(begin, size - begin);
    // The reason may be at the beginning, before the frames of a stack.
    constexpr std::uintmax_t kHalf = kLogShown / 2;
    return read(begin, kHalf) + "\n[...]\n" + read(size - kHalf, kHalf);
  }
};

WorkerProcess::WorkerProcess(std::shared_ptr<Started> started, Link link, pid_t pid,
                             std::shared_ptr<WorkerProcess> parent)
    : started_(std::move(started)), link_(std::move(link)), parent_(std::move(parent)), pid_(pid) {}

WorkerProcess::~WorkerProcess() {
  link_.abort();
  // Only a process that was just alive: the number of another one may have been reused.
  if (loss_ && *loss_ != Loss::kClosed) kill_tree(pid_);
}

const fs::path& WorkerProcess::worker() const { return started_->worker; }

const fs::path& WorkerProcess::log() const { return started_->log; }

fs::path WorkerProcess::work_dir() const { return started_->log.parent_path(); }

bool WorkerProcess::answers() const {
  std::lock_guard lock(turn_);
  return !loss_;
}

Link::Patience WorkerProcess::while_it_works() const {
  return while_within({.idle_ms = started_->idle_limit.count()}, pid_, cpu_use_of_process);
}

Reply WorkerProcess::ask(const wire::Message& message, const Link::Patience& patience, int passed) {
  std::lock_guard lock(turn_);
  auto reply = link_.request(message, patience, passed);
  if (!reply) loss_ = reply.error();
  return reply;
}

Reply WorkerProcess::request(const wire::Message& message, std::chrono::milliseconds limit) {
  return ask(message, while_within({limit.count(), limit.count()}, pid_, cpu_use_of_tree));
}

Reply WorkerProcess::prepare(const wire::Message& message) {
  return ask(message, while_it_works());
}

tl::expected<std::unique_ptr<WorkerProcess>, Loss> WorkerProcess::fork(
    std::shared_ptr<WorkerProcess> parent) {
  auto ends = Link::make();
  if (!ends) return tl::unexpected(Loss::kClosed);
  TRY_ASSIGN(const auto pid, parent->fork_onto(ends->second.get()));
  auto started = parent->started_;
  return std::unique_ptr<WorkerProcess>(
      new WorkerProcess(std::move(started), std::move(ends->first), pid, std::move(parent)));
}

tl::expected<pid_t, Loss> WorkerProcess::fork_onto(int socket) {
  TRY_ASSIGN(auto reply, ask({"fork", {}}, while_it_works(), socket));
  const pid_t pid = std::atoi(reply.get("pid").c_str());
  if (reply.verb != "forked" || pid <= 0) return tl::unexpected(Loss::kGarbled);
  return pid;
}

std::shared_ptr<WorkerProcess> WorkerProcess::borrow(Link link, Loan loan) {
  auto started =
      std::make_shared<Started>(Started{std::nullopt, std::move(loan.log), std::move(loan.worker),
                                        false, WorkerOptions{}.idle_limit, std::move(loan.lender)});
  return std::shared_ptr<WorkerProcess>(
      new WorkerProcess(std::move(started), std::move(link), loan.pid));
}

std::uintmax_t WorkerProcess::log_size() const { return started_->log_size(); }

// Valgrind writes a log for each process.
std::string WorkerProcess::log_since(std::uintmax_t begin) const {
  std::string own = wire::kProfilePrefix + std::to_string(pid_) + ".log";
  std::string text = started_->written_since(begin) + valgrind_messages(work_dir() / own);
  return std::string(trim_end(text, "\n"));
}

Expected<std::shared_ptr<Root>> Root::start(const WorkerOptions& options) {
  TRY_ASSIGN(auto log, open_log(options.work_dir));
  TRY_ASSIGN(const auto folder, open_folder(options.work_dir));
  TRY_ASSIGN(const auto program_folder, open_folder(options.program.file.parent_path()));
  TRY_ASSIGN(auto ends, Link::make());
  SpawnOptions spawn;
  spawn.argv = worker_command(options);
  spawn.environment = options.program.environment;
  spawn.working_directory = options.program.working_directory;
  spawn.descriptors = {{ends.second.get(), wire::kControlFd},
                       {folder.get(), wire::kWorkFolderFd},
                       {program_folder.get(), wire::kProgramFolderFd},
                       {log.first.get(), STDERR_FILENO}};
  TRY_ASSIGN(const Fd tools, pass_tools(options.valgrind_tools, spawn));
  std::vector<Fd> opened;
  for (const auto& [path, number] : options.program.open_files) {
    TRY_ASSIGN(auto file, open_to_read(path));
    spawn.descriptors.emplace_back(file.get(), number);
    opened.push_back(std::move(file));
  }
  spawn.pin_layout = !options.is_native();
  TRY_ASSIGN(auto process, Process::spawn(spawn));
  const pid_t pid = process.pid();
  auto started = std::make_shared<Started>(Started{std::move(process), std::move(log.second),
                                                   options.program.file, options.is_native(),
                                                   options.idle_limit});
  return std::shared_ptr<Root>(new Root(std::move(started), std::move(ends.first), pid));
}

Expected<wire::Message> Root::await_hello() {
  std::lock_guard lock(turn_);
  auto hello = link_.receive(while_it_works());
  if (hello && hello->verb == "hello") {
    for (const auto& [name, id] : loaded_libraries(pid())) {
      hello->fields[(started_->is_native ? std::string(kOfTimes) : "") + name] = id;
    }
    return *std::move(hello);
  }
  std::string what = "the worker did not start: ";
  what += hello ? "it sent '" + hello->verb + "' instead of 'hello'" : to_string(hello.error());
  if (auto log = log_since(0); !log.empty()) what += "\n" + log;
  return fail(std::move(what), limit_advice());
}

void Root::kill() {
  started_->process->kill();
  abort();
}

std::optional<int> Root::await_end(std::chrono::milliseconds limit) {
  Link::Patience patience = while_within({limit.count(), limit.count()}, pid(), cpu_use_of_tree);
  do {
    if (auto status = started_->process->wait_for(patience.interval)) return status;
  } while (patience.look() == CpuVerdict::kGoesOn);
  return std::nullopt;
}

// The path goes through the descriptor of the worker's folder, so that the cache's path is not in
// its memory: the loader expands a relative path to the full one, and the worker is in another
// folder when it loads a unit.
wire::Message load_request(const fs::path& worker, const fs::path& unit) {
  if (unit.empty()) return {"load", {{"path", ""}}};
  fs::path seen = fs::path("/proc/self/fd") / std::to_string(wire::kProgramFolderFd) /
                  unit.lexically_relative(worker.parent_path());
  return {"load", {{"path", seen.string()}}};
}

}  // namespace instr
