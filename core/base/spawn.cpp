// How a process starts: everything between fork and exec.
#include <fcntl.h>
#include <signal.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "core/base/environment.h"
#include "core/base/process.h"

namespace instr {

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
  if (options.own_group) ::setpgid(0, 0);
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
  if (options.own_group) ::setpgid(pid, pid);  // both sides do this, since either may run first
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
