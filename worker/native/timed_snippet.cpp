#include "worker/native/timed_snippet.h"

#include <sys/mman.h>
#include <unistd.h>

#include <utility>

#include "worker/children.h"
#include "worker/ended.h"
#include "worker/native/device.h"
#include "worker/torch_side.h"

namespace instr {
namespace {

constexpr std::size_t kGuardSize = 1 << 20;
constexpr std::size_t kStackSize = 8 << 20;  // what a program's main thread usually has

// makecontext() cannot pass a pointer.
TimedSnippet* entering = nullptr;

// The standard library's and LibTorch's messages for lack of memory.
bool is_out_of_memory(const std::string& text) {
  return text.find("bad_alloc") != std::string::npos ||
         text.find("can't allocate memory") != std::string::npos ||
         text.find("out of memory") != std::string::npos;
}

}  // namespace

TimedSnippet::TimedSnippet(instr_snippet snippet, int threads, std::string device)
    : snippet_(snippet), device_(std::move(device)), pid_(getpid()) {
  abi_version = INSTR_ABI_VERSION;
  this->threads = threads;
  instr_context::next_block = next_block;
  instr_context::mark = mark;
  instr_context::take_module = take_module;
}

TimedSnippet::~TimedSnippet() {
  if (stack_ != nullptr) munmap(stack_, kGuardSize + kStackSize);
}

bool TimedSnippet::set_up() {
  void* stack = mmap(nullptr, kGuardSize + kStackSize, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stack == MAP_FAILED || mprotect(stack, kGuardSize, PROT_NONE) != 0) {
    failure_ = "its stack could not be mapped";
    return false;
  }
  stack_ = stack;
  torch_side::prepare(threads);
  getcontext(&inside_);
  inside_.uc_stack.ss_sp = static_cast<char*>(stack_) + kGuardSize;
  inside_.uc_stack.ss_size = kStackSize;
  inside_.uc_link = nullptr;
  makecontext(&inside_, enter, 0);
  entering = this;
  resume();
  if (is_over_ && failure_.empty()) {
    is_definition_error_ = true;
    failure_ = "the snippet returned before its loop was measured";
  }
  return is_at_loop_ && !is_over_;
}

std::optional<double> TimedSnippet::run(std::uint64_t iterations) {
  if (is_over_) return std::nullopt;
  iterations_ = iterations;
  resume();
  if (is_over_) {
    if (failure_.empty()) failure_ = "the snippet left its loop before its iterations were over";
    return std::nullopt;
  }
  return std::chrono::duration<double>(end_ - begin_).count();
}

std::optional<TimedSnippet::Start> TimedSnippet::start() {
  if (!set_up()) return std::nullopt;
  auto since_preparing = [this](instr_mark reached) {
    return std::chrono::duration<double>(marks_.at(reached) - marks_.at(INSTR_PREPARING)).count();
  };
  if (marks_.contains(INSTR_READY)) {
    return Start{since_preparing(INSTR_FIRST_RESULT), since_preparing(INSTR_READY)};
  }
  auto first = run(1);
  if (!first) return std::nullopt;
  return Start{*first, *first};
}

void TimedSnippet::finish() {
  if (is_over_ || !is_at_loop_) return;
  iterations_ = 0;
  resume();
}

wire::Message TimedSnippet::failure_message() const {
  const char* kind = is_definition_error_         ? "definition_error"
                     : is_out_of_memory(failure_) ? "out_of_memory"
                                                  : "exception";
  wire::Message reply = failed(kind, failure_);
  const bool is_set_up = is_at_loop_ || marks_.contains(INSTR_PREPARING);
  if (!is_definition_error_) reply.fields["part"] = is_set_up ? "statement" : "setup";
  return reply;
}

void TimedSnippet::resume() { swapcontext(&outside_, &inside_); }

// The clock is read next to the loop: changing stacks is not part of a block.
std::uint64_t TimedSnippet::next_block(instr_context* context) {
  auto& self = *static_cast<TimedSnippet*>(context);
  if (getpid() != self.pid_) end_process();  // a process that the snippet forked came here
  wait_for(self.device_);
  self.end_ = Clock::now();
  self.is_at_loop_ = true;
  swapcontext(&self.inside_, &self.outside_);
  self.begin_ = Clock::now();
  return self.iterations_;
}

void TimedSnippet::mark(instr_context* context, instr_mark reached) {
  auto& self = *static_cast<TimedSnippet*>(context);
  wait_for(self.device_);
  self.marks_[reached] = Clock::now();
}

void TimedSnippet::take_module(instr_context* context, const void* module) {
  auto& self = *static_cast<TimedSnippet*>(context);
  self.module_ = module;
  if (self.on_module) self.on_module(module);
}

void TimedSnippet::enter() {
  TimedSnippet& self = *entering;
  self.body();
  for (;;) swapcontext(&self.inside_, &self.outside_);
}

void TimedSnippet::body() {
  auto call = [](void* argument) {
    auto* self = static_cast<TimedSnippet*>(argument);
    self->snippet_(self);
  };
  torch_side::Caught caught = torch_side::run_guarded(call, this);
  is_over_ = true;
  if (!caught.any) return;
  failure_ = caught.text.empty() ? "an exception without a text" : caught.text;
  is_definition_error_ = caught.is_definition_error;
}

}  // namespace instr
