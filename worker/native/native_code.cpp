#include "worker/native/native_code.h"

#include <link.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "worker/children.h"

namespace instr {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kGuardSize = 64 << 20;  // takes no memory
constexpr std::size_t kStackSize = 8 << 20;   // the size of a main thread's stack

std::vector<char*> guards;  // guard areas below the stacks of snippets

// Returns the stack pointer of the code that a signal interrupted.
const char* stack_pointer(const void* context) {
  const mcontext_t& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#ifdef __x86_64__
  return reinterpret_cast<const char*>(machine.gregs[REG_RSP]);
#else
  return reinterpret_cast<const char*>(machine.sp);
#endif
}

// Returns true if the address is in the guard, or in a frame that begins below it: a large frame
// may jump the guard.
bool is_overflow(const char* at, const char* stack, const char* guard) {
  constexpr std::ptrdiff_t kMaxFrame = std::ptrdiff_t{1} << 30;
  constexpr std::ptrdiff_t kBelow = 4096;  // a call pushes, and a leaf function may write, below it
  const bool is_below = stack < guard + kGuardSize && guard - stack < kMaxFrame;
  return (at >= guard && at < guard + kGuardSize) ||
         (is_below && at < guard && at >= stack - kBelow);
}

// Reports a stack overflow, which would look like any other wrong address. Then the process ends as
// without a handler.
void on_fault(int, siginfo_t* info, void* context) {
  const char* at = static_cast<const char*>(info->si_addr);
  for (const char* guard : guards) {
    if (!is_overflow(at, stack_pointer(context), guard)) continue;
    const std::string text = std::string("\n") + kStackOverflow + "\n";
    (void)!write(STDERR_FILENO, text.data(), text.size());
  }
}

void watch_stack(char* guard) {
  if (guards.empty()) {
    static char own[64 << 10];
    stack_t signals{};
    signals.ss_sp = own;
    signals.ss_size = sizeof own;
    sigaltstack(&signals, nullptr);
    struct sigaction action {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND;
    sigaction(SIGSEGV, &action, nullptr);
  }
  guards.push_back(guard);
}

// Runs the snippet on its own stack.
class SuspendedSnippet : public SuspendedCode, instr_context {
 public:
  SuspendedSnippet(instr_snippet snippet, int thread_count, Listener listener)
      : snippet_(snippet), listener_(std::move(listener)), pid_(getpid()) {
    abi_version = INSTR_ABI_VERSION;
    threads = thread_count;
    instr_context::next_block = next_block;
    instr_context::mark = mark;
    instr_context::take_module = take_module;
  }

  ~SuspendedSnippet() override {
    if (stack_ == nullptr) return;
    std::erase(guards, static_cast<char*>(stack_));
    munmap(stack_, kGuardSize + kStackSize);
  }

  bool resume(std::uint64_t iterations) override {
    if (stack_ == nullptr && !make_stack()) return false;
    iterations_ = iterations;
    swapcontext(&outside_, &inside_);
    return !is_over_;
  }

  double seconds() const override { return std::chrono::duration<double>(end_ - begin_).count(); }

 private:
  bool make_stack() {
    void* stack = mmap(nullptr, kGuardSize + kStackSize, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED ||
        mprotect(static_cast<char*>(stack) + kGuardSize, kStackSize, PROT_READ | PROT_WRITE) != 0) {
      caught_.any = true;
      caught_.text = "the snippet's stack could not be mapped";
      return false;
    }
    stack_ = stack;
    watch_stack(static_cast<char*>(stack));
    getcontext(&inside_);
    inside_.uc_stack.ss_sp = static_cast<char*>(stack_) + kGuardSize;
    inside_.uc_stack.ss_size = kStackSize;
    inside_.uc_link = nullptr;
    makecontext(&inside_, enter, 0);
    entering = this;
    return true;
  }

  // Reads the clock next to the loop: changing stacks is not part of a block.
  static std::uint64_t next_block(instr_context* context) {
    auto& self = *static_cast<SuspendedSnippet*>(context);
    if (getpid() != self.pid_) end_process();  // a process that the snippet forked came here
    self.listener_.on_block_end();
    self.end_ = Clock::now();
    swapcontext(&self.inside_, &self.outside_);
    self.begin_ = Clock::now();
    return self.iterations_;
  }

  static void mark(instr_context* context, instr_mark reached) {
    auto& self = *static_cast<SuspendedSnippet*>(context);
    if (reached != INSTR_AT_LOOP) return self.listener_.on_mark(reached);
    if (std::exchange(self.is_at_loop_, true)) self.end(kLeftEarly);
  }

  // Ends the snippet with this failure, in the middle of its code.
  [[noreturn]] void end(const char* failure) {
    caught_.any = true;
    caught_.is_definition_error = true;
    caught_.text = failure;
    is_over_ = true;
    for (;;) swapcontext(&inside_, &outside_);
  }

  static void take_module(instr_context* context, const void* module) {
    static_cast<SuspendedSnippet*>(context)->listener_.on_module(module);
  }

  static void enter() {
    SuspendedSnippet& self = *entering;
    self.caught_ = torch_side::run_guarded(
        [](void* argument) {
          auto* running = static_cast<SuspendedSnippet*>(argument);
          running->snippet_(running);
        },
        &self);
    self.is_over_ = true;
    for (;;) swapcontext(&self.inside_, &self.outside_);
  }

  static inline SuspendedSnippet* entering = nullptr;  // makecontext() cannot pass a pointer

  instr_snippet snippet_;
  Listener listener_;
  pid_t pid_;
  void* stack_ = nullptr;
  ucontext_t inside_{};
  ucontext_t outside_{};
  std::uint64_t iterations_ = 0;  // iterations of the next block
  Clock::time_point begin_;
  Clock::time_point end_;
  bool is_at_loop_ = false;
  bool is_over_ = false;
};

}  // namespace

std::unique_ptr<SuspendedCode> SuspendedCode::make(const void* code, int threads,
                                                   Listener listener) {
  return std::make_unique<SuspendedSnippet>(
      reinterpret_cast<instr_snippet>(const_cast<void*>(code)), threads, std::move(listener));
}

void watch_compiler(const CompilerWatch&) {}
std::map<std::string, std::string> compiler_report() { return {}; }
std::map<std::string, double> device_totals() { return {}; }
std::string compiler_log(const std::string&) { return ""; }

std::string loaded_files() {
  std::string names;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* text) {
        *static_cast<std::string*>(text) += std::string(info->dlpi_name) + "\n";
        return 0;
      },
      &names);
  return names;
}

void call_verifier(const void* code, instr_verification* verification) {
  reinterpret_cast<instr_verifier>(const_cast<void*>(code))(verification);
}

}  // namespace instr
