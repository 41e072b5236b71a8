// Notes the calls between Python functions and their costs, by an evaluator of frames (PEP 523),
// which the interpreter calls for each frame.
#include <pthread.h>
#include <valgrind/callgrind.h>

#include <string>

#include "worker/python/counted/frames.h"
#include "worker/python/side.h"
#include "worker/torch_side.h"

namespace instr {
namespace {

// Notes are not on the heap, whose state affects the snippet.
constexpr uint32_t kMaxFunctions = 16 * 1024;
constexpr uint32_t kMaxPairs = 8 * kMaxFunctions;
constexpr uint32_t kMaxDepth = 16 * 1024;
constexpr uint64_t kMaxCalls = 5'000'000;

struct Function {
  PyObject* code;  // null: the statement itself
  uint64_t self;
  uint64_t inclusive;  // the inclusive cost of the outermost calls
  uint64_t calls;
  uint32_t active;  // calls that have not returned
  bool is_recursive;
};
struct Pair {
  uint32_t caller, callee;  // callee 0: an unused pair, since nothing calls the statement
  uint64_t inclusive;
  uint64_t calls;
};
struct Call {
  uint32_t function;
  uint64_t begin;
};

Function functions[kMaxFunctions];
uint32_t numbers[2 * kMaxFunctions];  // a hash table of functions by their code; 0: unused
Pair pairs[kMaxPairs];
Call stack[kMaxDepth];
uint32_t function_count;
uint32_t depth;
uint64_t calls;
uint64_t last;  // counted instructions when the running function last began or continued
bool is_too_much;
pthread_t followed;
uint64_t (*counted)();

Evaluator usual;

uint32_t number_of_code(PyObject* code) {
  auto i = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(code) / 64 % (2 * kMaxFunctions));
  while (numbers[i] != 0 && functions[numbers[i]].code != code) i = (i + 1) % (2 * kMaxFunctions);
  if (numbers[i] != 0) return numbers[i];
  if (function_count == kMaxFunctions) return 0;
  Py_IncRef(code);  // the name is read later
  functions[function_count].code = code;
  return numbers[i] = function_count++;
}

// Finds or adds a pair; null if there is no more room.
Pair* find_pair(uint32_t caller, uint32_t callee) {
  const uint32_t begin = (caller * 31 + callee) % kMaxPairs;
  for (uint32_t i = 0; i < kMaxPairs; ++i) {
    Pair& pair = pairs[(begin + i) % kMaxPairs];
    if (pair.callee == 0) pair = {caller, callee, 0, 0};
    if (pair.caller == caller && pair.callee == callee) return &pair;
  }
  return nullptr;
}

void charge_running_function() {
  const uint64_t now = counted();
  functions[stack[depth].function].self += now - last;
  last = now;
}

bool enter(PyObject* code) {
  if (is_too_much) return false;
  charge_running_function();
  const uint32_t number = number_of_code(code);
  is_too_much = number == 0 || depth + 1 == kMaxDepth || ++calls > kMaxCalls ||
                find_pair(stack[depth].function, number) == nullptr;
  if (is_too_much) return false;
  Function& function = functions[number];
  function.calls += 1;
  function.is_recursive = function.is_recursive || function.active != 0;
  function.active += 1;
  stack[++depth] = {number, last};
  return true;
}

void leave() {
  if (is_too_much) return;
  charge_running_function();
  const Call call = stack[depth--];
  Function& function = functions[call.function];
  Pair& pair = *find_pair(stack[depth].function, call.function);
  pair.calls += 1;
  if (--function.active != 0) return;
  function.inclusive += last - call.begin;
  pair.inclusive += last - call.begin;
}

PyObject* evaluate(void* thread, void* frame, int raises) {
  if (!pthread_equal(pthread_self(), followed)) return usual(thread, frame, raises);
  CALLGRIND_TOGGLE_COLLECT;
  const bool is_noted = enter(code_of_frame(frame));
  CALLGRIND_TOGGLE_COLLECT;
  PyObject* result = usual(thread, frame, raises);
  if (!is_noted) return result;
  CALLGRIND_TOGGLE_COLLECT;
  leave();
  CALLGRIND_TOGGLE_COLLECT;
  return result;
}

}  // namespace

namespace torch_side {

bool follow_calls(uint64_t (*total)()) {
  if (!can_evaluate_frames()) return false;
  followed = pthread_self();
  counted = total;
  function_count = 1;
  last = counted();
  usual = replace_evaluator(evaluate);
  return true;
}

std::string followed_calls() {
  charge_running_function();
  replace_evaluator(usual);
  if (is_too_much) return "";
  functions[0].inclusive = 0;
  for (uint32_t i = 0; i < function_count; ++i) functions[0].inclusive += functions[i].self;
  std::string text = "{\"functions\": [";
  for (uint32_t i = 0; i < function_count; ++i) {
    const Function& function = functions[i];
    if (i != 0) text += ", ";
    text += "{\"code\": " +
            (i == 0 ? "null" : text_of(call(side_attribute("described"), function.code))) +
            ", \"self\": " + std::to_string(function.self) +
            ", \"inclusive\": " + std::to_string(function.inclusive) +
            ", \"calls\": " + std::to_string(function.calls) +
            ", \"recursive\": " + (function.is_recursive ? "true" : "false") + "}";
  }
  text += "], \"calls\": [";
  bool is_first = true;
  for (const Pair& pair : pairs) {
    if (pair.callee == 0) continue;
    text += std::string(is_first ? "" : ", ") + "[" + std::to_string(pair.caller) + ", " +
            std::to_string(pair.callee) + ", " + std::to_string(pair.inclusive) + ", " +
            std::to_string(pair.calls) + "]";
    is_first = false;
  }
  return text + "]}";
}

}  // namespace torch_side
}  // namespace instr
