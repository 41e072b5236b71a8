#include "core/base/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

#include "core/base/environment.h"

namespace instr {

namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;

// How often to poll for the end of a child if no system call can report it.
constexpr std::chrono::milliseconds kPollInterval{5};

std::string errno_text(int error) { return std::strerror(error); }

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (auto& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// All that a child needs, prepared before the fork: after it only async-signal-safe calls are
// allowed.
struct ChildPlan {
  std::vector<std::string> argv_texts;
  std::vector<std::string> environment_texts;
  std::vector<char*> argv;
  std::vector<char*> environment;
  std::string program;
  std::string working_directory;  // empty: the caller's
  std::vector<std::pair<int, int>> descriptors;
  std::vector<int> moved;  // space for the copies made before any is put in its place
  int above = 3;           // first descriptor number that no mapping names
  bool pin_layout = false;
  bool own_group = true;
};

Expected<ChildPlan> plan_child(const SpawnOptions& options) {
  if (options.argv.empty()) return fail("cannot run an empty command");
  TRY_ASSIGN(auto program, find_program(options.argv[0]));
  ChildPlan plan;
  plan.argv_texts = options.argv;
  plan.environment_texts = options.environment ? *options.environment : own_environment();
  plan.argv = pointers(plan.argv_texts);
  plan.environment = pointers(plan.environment_texts);
  plan.program = program.string();
  if (options.working_directory) plan.working_directory = options.working_directory->string();
  plan.descriptors = options.descriptors;
  plan.moved.resize(plan.descriptors.size(), -1);
  for (const auto& [from, to] : plan.descriptors) plan.above = std::max({plan.above, from, to + 1});
  plan.pin_layout = options.pin_layout;
  plan.own_group = options.own_group;
  return plan;
}

enum ChildStep : int { kDescriptors, kDirectory, kLayout, kExec };

struct ChildFault {
  int step = 0;
  int error = 0;
};

[[noreturn]] void report_fault(int channel, ChildStep step) {
  ChildFault fault{step, errno};
  [[maybe_unused]] ssize_t written = ::write(channel, &fault, sizeof fault);
  ::_exit(127);
}

void cap_limit(int which, rlim_t value) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource>(which), &limit) != 0) return;
  limit.rlim_cur = std::min(value, limit.rlim_max);
  ::setrlimit(static_cast<__rlimit_resource>(which), &limit);
}

bool pin_layout() {
  cap_limit(RLIMIT_STACK, rlim_t{8} << 20);
  cap_limit(RLIMIT_NOFILE, 1024);
  cap_limit(RLIMIT_CORE, 0);
  // Setting this flag alone also undoes a legacy layout that the caller chose.
  return ::personality(ADDR_NO_RANDOMIZE) != -1;
}

// Puts the descriptors in their places; all others but the report channel are closed at exec.
bool place_descriptors(ChildPlan& plan, int& channel) {
  channel = ::fcntl(channel, F_DUPFD_CLOEXEC, plan.above);
  if (channel < 0) return false;
  for (std::size_t i = 0; i < plan.descriptors.size(); ++i) {
    plan.moved[i] = ::fcntl(plan.descriptors[i].first, F_DUPFD_CLOEXEC, plan.above);
    if (plan.moved[i] < 0) return false;
  }
  int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) return false;
  null = ::fcntl(null, F_DUPFD_CLOEXEC, plan.above);
  if (null < 0) return false;
  // The caller may itself have been given descriptors that are not close-on-exec.
  if (::syscall(SYS_close_range, 3U, ~0U, 4U /* CLOSE_RANGE_CLOEXEC */) != 0) {
    for (int fd = 3; fd < 4096; ++fd) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  }
  for (int standard = 0; standard < 3; ++standard) {
    if (::dup2(null, standard) < 0) return false;
  }
  for (std::size_t i = 0; i < plan.descriptors.size(); ++i) {
    if (::dup2(plan.moved[i], plan.descriptors[i].second) < 0) return false;
  }
  return true;
}

void reset_signals() {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) ::sigaction(number, &action, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void become_program(ChildPlan& plan, int channel) {
  if (plan.own_group) ::setpgid(0, 0);
  reset_signals();
  if (!place_descriptors(plan, channel)) report_fault(channel, kDescriptors);
  if (!plan.working_directory.empty() && ::chdir(plan.working_directory.c_str()) != 0) {
    report_fault(channel, kDirectory);
  }
  if (plan.pin_layout && !pin_layout()) report_fault(channel, kLayout);
  ::execve(plan.program.c_str(), plan.argv.data(), plan.environment.data());
  report_fault(channel, kExec);
}

Error describe_fault(const ChildPlan& plan, const ChildFault& fault) {
  std::string reason = errno_text(fault.error);
  switch (fault.step) {
    case kDirectory:
      return {{},
              "cannot run '" + plan.program + "' in '" + plan.working_directory + "': " + reason,
              ""};
    case kDescriptors:
      return {{}, "cannot hand descriptors to '" + plan.program + "': " + reason, ""};
    case kLayout:
      return {{},
              "cannot switch off address randomisation for '" + plan.program + "': " + reason,
              "allow the personality system call (in a container: its seccomp profile)"};
    case kExec: break;
  }
  return {{},
          "cannot run '" + plan.program + "': " + reason,
          "check that the file is there and is executable"};
}

// Blocks all signals in its scope, so that none of our handlers ever runs in a forked child.
class BlockSignals {
 public:
  BlockSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockSignals(const BlockSignals&) = delete;
  BlockSignals& operator=(const BlockSignals&) = delete;

 private:
  sigset_t before_{};
};

// Readable once the child has ended; invalid if the kernel does not have pidfds.
Fd open_pidfd(pid_t pid) { return Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0U))); }

// Whether the child has ended; leaves it unreaped, so that its group's number stays taken.
bool has_ended(pid_t pid) {
  siginfo_t info{};
  int result = 0;
  do {
    result = ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT);
  } while (result != 0 && errno == EINTR);
  return result != 0 || info.si_pid == pid;
}

int wait_for_end(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

// To a process and all its descendants.
void signal_tree(pid_t pid, int signal) {
  std::vector<pid_t> tree{pid};
  for (std::size_t i = 0; i < tree.size(); ++i) {
    auto id = std::to_string(tree[i]);
    ::kill(tree[i], SIGSTOP);  // so that it does not fork while we look
    std::ifstream children("/proc/" + id + "/task/" + id + "/children");
    for (pid_t child = 0; children >> child;) tree.push_back(child);
  }
  for (pid_t each : tree) ::kill(each, signal);
  for (pid_t each : tree) {
    if (signal != SIGKILL) ::kill(each, SIGCONT);
  }
}

// An eventfd that a stop request makes readable.
class StopEvent {
 public:
  explicit StopEvent(std::stop_token token)
      : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        callback_(std::move(token), Signal{this}) {}
  int get() const { return event_.get(); }

 private:
  struct Signal {
    StopEvent* self;
    void operator()() const noexcept {
      std::uint64_t one = 1;
      [[maybe_unused]] ssize_t written = ::write(self->event_.get(), &one, sizeof one);
    }
  };
  Fd event_;
  std::stop_callback<Signal> callback_;
};

Expected<std::array<Fd, 2>> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail("cannot make a pipe: " + errno_text(errno));
  return std::array<Fd, 2>{Fd(ends[0]), Fd(ends[1])};
}

// Appends what is available, at most what a pipe can hold (a writer may never pause); closes `end`
// at the end of the stream.
void drain(Fd& end, std::string& text) {
  char buffer[65536];
  for (int reads = 0; end && reads < 16; ++reads) {
    ssize_t count = ::read(end.get(), buffer, sizeof buffer);
    if (count > 0) {
      text.append(buffer, static_cast<std::size_t>(count));
    } else if (count < 0 && errno == EINTR) {
      continue;
    } else if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      return;
    } else {
      end.reset();
    }
  }
}

}  // namespace

Expected<fs::path> find_program(const std::string& name) {
  if (name.empty()) return fail("cannot run a program with an empty name");
  if (name.find('/') != std::string::npos) return fs::path(name);
  const char* path = std::getenv("PATH");
  std::string folders = path != nullptr ? path : "/usr/bin:/bin";
  std::size_t begin = 0;
  while (begin <= folders.size()) {
    std::size_t end = std::min(folders.find(':', begin), folders.size());
    fs::path candidate = fs::path(folders.substr(begin, end - begin)) / name;
    std::error_code ignored;
    if (fs::is_regular_file(candidate, ignored) && ::access(candidate.c_str(), X_OK) == 0) {
      return candidate;
    }
    begin = end + 1;
  }
  return fail("cannot find the program '" + name + "' on PATH",
              "install it, or give its full path");
}

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

Fd::~Fd() { reset(); }

void Fd::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Expected<Process> Process::spawn(const SpawnOptions& options) {
  TRY_ASSIGN(auto plan, plan_child(options));
  TRY_ASSIGN(auto channel, make_pipe());
  pid_t pid = -1;
  {
    BlockSignals blocked;
    pid = ::fork();
    if (pid == 0) become_program(plan, channel[1].get());
  }
  if (pid < 0) return fail("cannot start '" + plan.program + "': " + errno_text(errno));
  Process process(pid, options.own_group);
  if (options.own_group) ::setpgid(pid, pid);  // by both sides, since either may run first
  channel[1].reset();
  ChildFault fault;
  ssize_t count = 0;
  do {
    count = ::read(channel[0].get(), &fault, sizeof fault);
  } while (count < 0 && errno == EINTR);
  if (count == static_cast<ssize_t>(sizeof fault)) {
    return tl::unexpected(describe_fault(plan, fault));
  }
  return process;
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      own_group_(other.own_group_),
      status_(std::exchange(other.status_, std::nullopt)) {}

Process& Process::operator=(Process&& other) noexcept {
  if (this != &other) {
    kill();
    reap();
    pid_ = std::exchange(other.pid_, -1);
    own_group_ = other.own_group_;
    status_ = std::exchange(other.status_, std::nullopt);
  }
  return *this;
}

Process::~Process() {
  kill();
  reap();
}

// Its wait status; if it has a process group of its own, the rest of that is killed first.
int Process::reap() {
  if (pid_ <= 0 || status_) return status_.value_or(0);
  if (own_group_) ::kill(-pid_, SIGKILL);
  status_ = wait_for_end(pid_);
  return *status_;
}

std::optional<int> Process::wait_for(std::chrono::milliseconds time) {
  if (status_ || pid_ <= 0) return status_;
  auto end = Clock::now() + time;
  Fd pidfd = open_pidfd(pid_);
  while (!has_ended(pid_)) {
    auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0) return std::nullopt;
    pollfd watch{pidfd.get(), POLLIN, 0};
    auto pause = pidfd ? std::min(left, std::chrono::milliseconds(60'000)) : kPollInterval;
    ::poll(&watch, pidfd ? 1 : 0, static_cast<int>(pause.count()));
  }
  return reap();
}

int Process::wait() {
  while (pid_ > 0 && !status_) wait_for(std::chrono::hours(1));
  return status_.value_or(0);
}

std::optional<int> Process::wait(std::stop_token stop) {
  if (status_ || pid_ <= 0) return status_;
  StopEvent stopped(stop);
  Fd pidfd = open_pidfd(pid_);
  while (!has_ended(pid_)) {
    if (stop.stop_requested()) return std::nullopt;
    pollfd watch[2] = {{stopped.get(), POLLIN, 0}, {pidfd.get(), POLLIN, 0}};
    ::poll(watch, pidfd ? 2 : 1, pidfd ? -1 : static_cast<int>(kPollInterval.count()));
  }
  return reap();
}

void Process::kill() const {
  if (pid_ <= 0 || status_) return;
  // Its number stays taken until it is reaped; a pidfd would not do, since the whole group is
  // killed.
  if (own_group_) ::kill(-pid_, SIGKILL);
  if (!own_group_) kill_tree(pid_);
}

void Process::stop(std::chrono::milliseconds grace) {
  if (status_ || pid_ <= 0) return;
  if (own_group_) ::kill(-pid_, SIGTERM);
  if (!own_group_) signal_tree(pid_, SIGTERM);
  if (wait_for(grace)) return;
  kill();
  reap();
}

void kill_tree(pid_t pid) { signal_tree(pid, SIGKILL); }

int exit_code_of(int wait_status) {
  if (WIFSIGNALED(wait_status)) return 128 + WTERMSIG(wait_status);
  return WEXITSTATUS(wait_status);
}

Expected<CommandResult> run_command(SpawnOptions options, std::stop_token stop) {
  TRY_ASSIGN(auto output, make_pipe());
  TRY_ASSIGN(auto errors, make_pipe());
  options.descriptors.emplace_back(output[1].get(), STDOUT_FILENO);
  options.descriptors.emplace_back(errors[1].get(), STDERR_FILENO);
  TRY_ASSIGN(auto process, Process::spawn(options));
  for (auto* pipe : {&output, &errors}) {
    (*pipe)[1].reset();
    ::fcntl((*pipe)[0].get(), F_SETFL, O_NONBLOCK);
  }
  StopEvent stopped(stop);
  Fd pidfd = open_pidfd(process.pid());
  Fd& out = output[0];
  Fd& err = errors[0];
  CommandResult result;
  // The end of the child is what counts: something it left behind may hold the pipes open.
  while (!has_ended(process.pid())) {
    if (stop.stop_requested()) {
      process.stop(std::chrono::milliseconds(500));
      return fail("'" + options.argv[0] + "' was interrupted");
    }
    pollfd watch[4] = {{stopped.get(), POLLIN, 0},
                       {out.get(), POLLIN, 0},
                       {err.get(), POLLIN, 0},
                       {pidfd.get(), POLLIN, 0}};
    ::poll(watch, 4, pidfd ? -1 : static_cast<int>(kPollInterval.count()));
    drain(out, result.output);
    drain(err, result.errors);
  }
  result.exit_code = exit_code_of(process.wait());
  drain(out, result.output);
  drain(err, result.errors);
  return result;
}

}  // namespace instr
