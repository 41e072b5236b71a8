#include "core/base/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "core/base/replace_file.h"

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

}  // namespace instr
