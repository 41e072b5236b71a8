// Since 3.11, CPython specialises an instruction for the types it meets, and makes it general
// again, or specialises it anew, after a number of executions that met others. So the cost of a
// statement depends on how often it ran before. This ends here: each instruction that can be
// specialised is specialised for the types that it meets first, and never changes again.
#include <stdint.h>
#include <string.h>

#include "worker/python/counted/frames.h"
#include "worker/python/counted/pins.h"
#include "worker/python/side.h"
#include "worker/torch_side.h"

namespace instr {
namespace {

// Notes are not on the heap, whose state affects the snippet.
constexpr uint32_t kMaxCodes = 4096;  // a power of two
constexpr uint32_t kMaxInstructions = 128 * 1024;

// The interpreter's way of specialising (adaptation() in serve.py).
struct Adaptation {
  bool is_known;
  long size_at, code_begins;  // offsets in a code object
  uint8_t caches[256];        // opcode -> the number of two-byte caches that follow
  uint8_t is_general[256];    // opcode -> 1 unless it is a special form
};

// An instruction, followed by its counter.
using Instruction = uint8_t*;

Adaptation adaptation;
PyObject* codes[kMaxCodes];  // a hash table
uint32_t code_count;
Instruction instructions[kMaxInstructions];
uint32_t instruction_count;
Evaluator usual;

void note(PyObject* code) {
  auto i = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(code) / 16 % kMaxCodes);
  while (codes[i] != nullptr && codes[i] != code) i = (i + 1) % kMaxCodes;
  if (codes[i] == code || code_count + 1 == kMaxCodes) return;
  Py_IncRef(code);
  codes[i] = code;
  ++code_count;
}

PyObject* evaluate(void* thread, void* frame, int raises) {
  note(code_of_frame(frame));
  return usual(thread, frame, raises);
}

void find_instructions(PyObject* code) {
  auto* const object = reinterpret_cast<uint8_t*>(code);
  const ssize_t size = *reinterpret_cast<ssize_t*>(object + adaptation.size_at);
  Instruction at = object + adaptation.code_begins;
  for (const Instruction end = at + 2 * size; at < end;) {
    const uint8_t caches = adaptation.caches[*at];
    if (caches != 0 && instruction_count != kMaxInstructions) {
      instructions[instruction_count++] = at;
    }
    at += 2 + 2 * caches;
  }
}

// Copies a table of adaptation() and releases it.
void copy_table(uint8_t (&table)[256], PyObject* bytes) {
  memcpy(table, PyBytes_AsString(checked(bytes)), sizeof table);
  Py_DecRef(bytes);
}

// Values of the counter beside an instruction. A general instruction is specialised after so many
// executions; a specialised one becomes general, or is specialised anew, after so many executions
// with other types. The lowest four bits are the exponent of the next value.
constexpr uint16_t kAtOnce = 1;
constexpr uint16_t kNever = 0xFFF0;

}  // namespace

void learn_adaptation() {
  PyObject* description = call(side_attribute("adaptation"));
  if (PyObject_IsTrue(description) != 0 && can_evaluate_frames()) {
    adaptation.size_at = number_of(PySequence_GetItem(description, 0));
    adaptation.code_begins = number_of(PySequence_GetItem(description, 1));
    copy_table(adaptation.caches, PySequence_GetItem(description, 2));
    copy_table(adaptation.is_general, PySequence_GetItem(description, 3));
    adaptation.is_known = true;
  }
  Py_DecRef(description);
}

void forget_noted_code() {
  memset(codes, 0, sizeof codes);
  code_count = instruction_count = 0;
}

namespace torch_side {

bool note_code() {
  if (!adaptation.is_known) return false;
  PyObject* snippet = side_attribute("snippet");
  if (PyObject_IsTrue(snippet) != 0) {  // false if it is the canary
    PyObject* code = attribute(snippet, "__code__");
    note(code);
    Py_DecRef(code);
  }
  Py_DecRef(snippet);
  usual = replace_evaluator(evaluate);
  return true;
}

void end_noting_code() {
  replace_evaluator(usual);
  for (PyObject* code : codes) {
    if (code != nullptr) find_instructions(code);
  }
}

// Before the last iteration, specialised instructions may become general, and general ones are
// tried again. In the last iteration, general ones are specialised for the types that they meet
// first.
void settle_code(uint64_t iterations_left) {
  for (uint32_t i = 0; i < instruction_count; ++i) {
    const bool is_general = adaptation.is_general[*instructions[i]] != 0;
    const bool may_change = iterations_left > 1 || (iterations_left == 1 && is_general);
    *reinterpret_cast<uint16_t*>(instructions[i] + 2) = may_change ? kAtOnce : kNever;
  }
}

}  // namespace torch_side
}  // namespace instr
