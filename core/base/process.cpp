#include "core/base/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "core/base/environment.h"
#include "core/base/output_file.h"

namespace instr {

namespace {

using Clock = std::chrono::steady_clock;

// How often to poll for the end of a child if no system call can report it.
constexpr std::chrono::milliseconds kPollInterval{5};

// Readable once the child has ended; invalid if the kernel does not have pidfds.
Fd open_pidfd(pid_t pid) { return Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0U))); }

// True if the child has ended; leaves it unreaped, so that the number of its group stays taken.
bool has_ended(pid_t pid) {
  siginfo_t info{};
  int result = 0;
  do {
    result = ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT);
  } while (result != 0 && errno == EINTR);
  return result != 0 || info.si_pid == pid;
}

// The wait status if the true one cannot be learnt, such as of a child that something else has
// reaped: exit code 255, since an unknown end is no success.
constexpr int kUnknownStatus = 255 << 8;

int wait_for_end(pid_t pid) {
  int status = 0;
  pid_t ended = 0;
  do {
    ended = ::waitpid(pid, &status, 0);
  } while (ended < 0 && errno == EINTR);
  return ended == pid ? status : kUnknownStatus;
}

// Sends a signal to a process and all its descendants.
void signal_tree(pid_t pid, int signal) {
  std::vector<pid_t> tree{pid};
  for (std::size_t i = 0; i < tree.size(); ++i) {
    auto id = std::to_string(tree[i]);
    ::kill(tree[i], SIGSTOP);  // a stopped process cannot fork while we look
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
      const std::uint64_t count = 1;
      [[maybe_unused]] ssize_t written = ::write(self->event_.get(), &count, sizeof count);
    }
  };
  Fd event_;
  std::stop_callback<Signal> callback_;
};

constexpr std::size_t kMaxOutput = std::size_t{256} << 20;  // far beyond any real answer
constexpr std::size_t kMaxErrors = std::size_t{16} << 20;   // the first ones say what is wrong

// Appends what is available, at most what a pipe can hold (a writer may never pause), up to `max`
// bytes in all; the rest is dropped. Closes `end` at the end of the stream.
void drain(Fd& end, std::string& text, std::size_t max) {
  char buffer[65536];
  for (int reads = 0; end && reads < 16; ++reads) {
    ssize_t count = ::read(end.get(), buffer, sizeof buffer);
    if (count > 0) {
      text.append(buffer, std::min(static_cast<std::size_t>(count), max - text.size()));
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

Expected<std::array<Fd, 2>> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return fail(std::string("cannot make a pipe: ") + std::strerror(errno));
  return std::array<Fd, 2>{Fd(ends[0]), Fd(ends[1])};
}

Fd open_input(std::string_view bytes) {
  Fd file(::memfd_create("input", MFD_CLOEXEC));
  if (file && write_all(file.get(), bytes).error == 0) ::lseek(file.get(), 0, SEEK_SET);
  return file;
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

// Returns the wait status; the rest of the process group, if it has its own, is killed first.
int Process::reap() {
  if (pid_ <= 0 || status_) return status_.value_or(kUnknownStatus);
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
  return status_.value_or(kUnknownStatus);
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
  // The number stays taken until the child is reaped. A pidfd cannot kill a whole group.
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

int to_exit_code(int wait_status) {
  if (WIFSIGNALED(wait_status)) return 128 + WTERMSIG(wait_status);
  return WEXITSTATUS(wait_status);
}

SpawnOptions make_command(std::vector<std::string> argv, int output) {
  SpawnOptions spawn;
  spawn.argv = std::move(argv);
  spawn.descriptors = {{output, STDOUT_FILENO}, {STDERR_FILENO, STDERR_FILENO}};
  return spawn;
}

Expected<int> run_to_end(const SpawnOptions& options, std::stop_token stop) {
  TRY_ASSIGN(auto process, Process::spawn(options));
  if (const auto status = process.wait(stop)) return to_exit_code(*status);
  process.stop(std::chrono::seconds(10));
  return 128 + SIGINT;
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
    drain(out, result.output, kMaxOutput);
    drain(err, result.errors, kMaxErrors);
  }
  result.exit_code = to_exit_code(process.wait());
  drain(out, result.output, kMaxOutput);
  drain(err, result.errors, kMaxErrors);
  if (result.output.size() == kMaxOutput) {
    return fail("'" + options.argv[0] + "' printed more than 256 MiB");
  }
  return result;
}

// How a process starts: everything between fork and exec.

namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (auto& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// Everything that a child needs, prepared before the fork: after it only async-signal-safe calls
// are allowed.
struct ChildPlan {
  SpawnOptions options;
  std::string program;
  std::vector<char*> argv = {};
  std::vector<char*> environment = {};
  std::vector<int> moved = {};  // space for the copies made before any is put in its place
  int above = 3;                // first descriptor number that no mapping names
};

Expected<ChildPlan> plan_child(const SpawnOptions& options) {
  if (options.argv.empty()) return fail("cannot run an empty command");
  TRY_ASSIGN(auto program, find_program(options.argv[0]));
  ChildPlan plan{options, program.string()};
  if (!plan.options.environment) plan.options.environment = own_environment();
  plan.argv = pointers(plan.options.argv);
  plan.environment = pointers(*plan.options.environment);
  plan.moved.resize(options.descriptors.size(), -1);
  for (const auto& [from, to] : options.descriptors) {
    plan.above = std::max({plan.above, from, to + 1});
  }
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

// Ensures that the next process has an id above 256, as all have but the first ones in a container:
// CPython has an object for each number up to 256, and allocates one for a larger number.
void use_up_small_process_ids() {
  constexpr pid_t kLargest = 256;
  for (pid_t last = ::gettid(); last >= 0 && last <= kLargest;) {
    last = ::fork();
    if (last == 0) ::_exit(0);
    if (last > 0) ::waitpid(last, nullptr, 0);
  }
}

// Puts the descriptors in their places; all others but the report channel are closed at exec.
bool place_descriptors(ChildPlan& plan, int& channel) {
  const auto& wanted = plan.options.descriptors;
  channel = ::fcntl(channel, F_DUPFD_CLOEXEC, plan.above);
  if (channel < 0) return false;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    plan.moved[i] = ::fcntl(wanted[i].first, F_DUPFD_CLOEXEC, plan.above);
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
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (::dup2(plan.moved[i], wanted[i].second) < 0) return false;
  }
  return true;
}

// `keeps_nohup`: SIGHUP stays ignored, as in all processes below nohup.
void reset_signals(bool keeps_nohup) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) {
    if (number == SIGHUP && keeps_nohup && is_ignored(number)) continue;
    ::sigaction(number, &action, nullptr);
  }
  sigset_t empty;
  ::sigemptyset(&empty);
  ::sigprocmask(SIG_SETMASK, &empty, nullptr);
}

[[noreturn]] void become_program(ChildPlan& plan, int channel) {
  const SpawnOptions& options = plan.options;
  if (options.own_session) {
    ::setsid();
  } else if (options.own_group) {
    ::setpgid(0, 0);
  }
  reset_signals(/*keeps_nohup=*/!options.own_group);
  if (!place_descriptors(plan, channel)) report_fault(channel, kDescriptors);
  if (options.working_directory && ::chdir(options.working_directory->c_str()) != 0) {
    report_fault(channel, kDirectory);
  }
  if (options.pin_layout && !pin_layout()) report_fault(channel, kLayout);
  ::execve(plan.program.c_str(), plan.argv.data(), plan.environment.data());
  report_fault(channel, kExec);
}

tl::unexpected<Error> fail_with(const ChildFault& fault, const ChildPlan& plan) {
  const std::string program = "'" + plan.program + "'";
  const auto what = [&](const std::string& action) {
    return "cannot " + action + ": " + std::strerror(fault.error);
  };
  switch (fault.step) {
    case kDirectory:
      return fail(
          what("run " + program + " in '" + plan.options.working_directory->string() + "'"));
    case kDescriptors: return fail(what("hand descriptors to " + program));
    case kLayout:
      return fail(what("switch off address randomisation for " + program),
                  "allow the personality system call (in a container: its seccomp profile)");
    case kExec: break;
  }
  return fail(what("run " + program), "check that the file is there and is executable");
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

}  // namespace

bool is_ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

void reset_inherited_signals() {
  ::signal(SIGCHLD, SIG_DFL);
  sigset_t empty;
  ::sigemptyset(&empty);
  ::pthread_sigmask(SIG_SETMASK, &empty, nullptr);
}

Expected<fs::path> find_program(const std::string& name) {
  if (name.empty()) return fail("cannot run a program with an empty name");
  if (name.find('/') != std::string::npos) return fs::path(name);
  const char* path = std::getenv("PATH");
  std::string folders = path != nullptr ? path : "/usr/bin:/bin";
  for (std::size_t begin = 0, end; begin <= folders.size(); begin = end + 1) {
    end = std::min(folders.find(':', begin), folders.size());
    fs::path candidate = fs::path(folders.substr(begin, end - begin)) / name;
    std::error_code ignored;
    if (fs::is_regular_file(candidate, ignored) && ::access(candidate.c_str(), X_OK) == 0) {
      return candidate;
    }
  }
  return fail("cannot find the program '" + name + "' on PATH",
              "install it, or give its full path");
}

Expected<Process> Process::spawn(const SpawnOptions& options) {
  TRY_ASSIGN(auto plan, plan_child(options));
  TRY_ASSIGN(auto channel, make_pipe());
  pid_t pid = -1;
  {
    BlockSignals blocked;
    if (options.pin_layout) use_up_small_process_ids();
    pid = ::fork();
    if (pid == 0) become_program(plan, channel[1].get());
  }
  if (pid < 0) return fail("cannot start '" + plan.program + "': " + std::strerror(errno));
  Process process(pid, options.own_group);
  if (options.own_group && !options.own_session)
    ::setpgid(pid, pid);  // both sides do this, since either may run first
  channel[1].reset();
  ChildFault fault;
  ssize_t count = 0;
  do {
    count = ::read(channel[0].get(), &fault, sizeof fault);
  } while (count < 0 && errno == EINTR);
  if (count == static_cast<ssize_t>(sizeof fault)) return fail_with(fault, plan);
  return process;
}

}  // namespace instr
