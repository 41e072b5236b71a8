#include "worker/native/timed_snippet.h"

#include <utility>

#include "worker/children.h"
#include "worker/native/libtorch.h"
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

TimedSnippet::TimedSnippet(const TimingRequest& request, std::size_t number)
    : threads_(request.threads),
      device_(request.device),
      number_(number),
      on_progress_(request.on_progress),
      code_(SuspendedCode::make(
          request.snippets[number], request.threads,
          {[this](instr_mark reached) { mark(reached); },
           [this](const void* module) { take_module(module); }, [this] { wait_for(device_); }})) {}

bool TimedSnippet::set_up() {
  torch_side::prepare(threads_);
  report("setup");
  is_at_loop_ = resume(0);
  note_files();
  if (is_at_loop_) {
    report("statement");
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
  report("statement");
  if (resume(iterations)) return code_->seconds();
  note_end();
  if (failure_.empty()) failure_ = kLeftEarly;
  return std::nullopt;
}

std::optional<TimedSnippet::Start> TimedSnippet::start() {
  if (!set_up()) return std::nullopt;
  auto since_preparing = [this](instr_mark reached) {
    const auto elapsed = marks_.at(reached).time - marks_.at(INSTR_PREPARING).time;
    return std::chrono::duration<double>(elapsed).count();
  };
  if (marks_.contains(INSTR_READY)) {
    return Start{since_preparing(INSTR_FIRST_RESULT), since_preparing(INSTR_READY),
                 marks_.at(INSTR_READY).cpu_s - marks_.at(INSTR_PREPARING).cpu_s};
  }
  const double cpu_before = cpu_seconds_of_tree();
  auto first = run(1);
  if (!first) return std::nullopt;
  return Start{*first, *first, cpu_seconds_of_tree() - cpu_before};
}

void TimedSnippet::finish() {
  if (is_over_ || !is_at_loop_) return;
  resume(0);
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
  if (!files_.empty()) reply.fields["files"] = files_;
  return reply;
}

void TimedSnippet::add_files(wire::Message& reply) {
  note_files();
  if (!files_.empty()) reply.fields["files"] = files_;
}

void TimedSnippet::note_files() { files_ = loaded_files(); }

bool TimedSnippet::resume(std::uint64_t iterations) {
  const bool before = switch_gradients(has_gradients_);
  const bool is_suspended = code_->resume(iterations);
  has_gradients_ = switch_gradients(before);
  return is_suspended;
}

void TimedSnippet::report(const char* part) const {
  wire::Fields fields{{"part", part}, {"snippet", std::to_string(number_)}};
  if (!files_.empty()) fields["files"] = files_;
  on_progress_(fields);
}

// Reads the CPU time, which takes a while, outside the time between the marks.
void TimedSnippet::mark(instr_mark reached) {
  wait_for(device_);
  Moment& moment = marks_[reached];
  if (reached == INSTR_PREPARING) {
    note_files();  // a compiler may end the process
    report("preparing");
    moment.cpu_s = cpu_seconds_of_tree();
  }
  moment.time = Clock::now();
  if (reached == INSTR_READY) moment.cpu_s = cpu_seconds_of_tree();
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
