#include "worker/native/timed_snippet.h"

#include <utility>

#include "worker/ended.h"
#include "worker/native/device.h"
#include "worker/native/repetitions.h"

namespace instr {
namespace {

// Recognises the messages of the standard library, LibTorch and the interpreter.
bool is_out_of_memory(const std::string& text) {
  return text.find("bad_alloc") != std::string::npos ||
         text.find("can't allocate memory") != std::string::npos ||
         text.find("out of memory") != std::string::npos || text.starts_with("MemoryError");
}

// Recognises Dynamo's message about a backend that this version does not have.
bool is_unsupported(const std::string& text) { return text.starts_with("InvalidBackend: "); }

}  // namespace

TimedSnippet::TimedSnippet(const void* code, const TimingRequest& request)
    : threads_(request.threads),
      device_(request.device),
      on_part_(request.on_part),
      code_(SuspendedCode::make(
          code, request.threads,
          {[this](instr_mark reached) { mark(reached); },
           [this](const void* module) { take_module(module); }, [this] { wait_for(device_); }})) {}

bool TimedSnippet::set_up() {
  torch_side::prepare(threads_);
  on_part_("setup");
  is_at_loop_ = code_->resume(0);
  if (is_at_loop_) {
    on_part_("statement");
    return true;
  }
  note_end();
  if (failure_.empty()) {
    is_definition_error_ = true;
    failure_ = "the snippet returned before its loop was measured";
  }
  return false;
}

std::optional<double> TimedSnippet::run(std::uint64_t iterations) {
  if (is_over_) return std::nullopt;
  if (code_->resume(iterations)) return code_->seconds();
  note_end();
  if (failure_.empty()) failure_ = "the snippet left its loop before its iterations were over";
  return std::nullopt;
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
  code_->resume(0);
  note_end();
}

wire::Message TimedSnippet::failure_message() const {
  const char* kind = is_definition_error_         ? "definition_error"
                     : is_unsupported(failure_)   ? "unsupported"
                     : is_out_of_memory(failure_) ? "out_of_memory"
                                                  : "exception";
  wire::Message reply = failed(kind, failure_);
  const bool is_set_up = is_at_loop_ || marks_.contains(INSTR_PREPARING);
  if (!is_definition_error_) reply.fields["part"] = is_set_up ? "statement" : "setup";
  if (line_ != 0) reply.fields["line"] = std::to_string(line_);
  return reply;
}

void TimedSnippet::mark(instr_mark reached) {
  wait_for(device_);
  marks_[reached] = Clock::now();
}

void TimedSnippet::take_module(const void* module) {
  module_ = module;
  if (on_module) on_module(module);
}

void TimedSnippet::note_end() {
  is_over_ = true;
  const torch_side::Caught& caught = code_->caught();
  if (!caught.any) return;
  failure_ = caught.text.empty() ? "an exception without a text" : caught.text;
  is_definition_error_ = caught.is_definition_error;
  line_ = caught.line;
}

}  // namespace instr
