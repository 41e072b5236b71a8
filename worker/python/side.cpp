#include "worker/python/side.h"

namespace instr {
namespace {

PyObject* side = nullptr;
torch_side::Caught caught;

[[noreturn]] void give_up() {
  PyErr_Print();
  abort();
}

// Returns a text that UTF-8 cannot encode, as it has a lone surrogate. Releases the object.
std::string text_with_escapes(PyObject* object) {
  PyErr_Clear();
  PyObject* bytes = checked(PyUnicode_AsEncodedString(object, "utf-8", "backslashreplace"));
  Py_DecRef(object);
  std::string copy = PyBytes_AsString(bytes);
  Py_DecRef(bytes);
  return copy;
}

}  // namespace

void set_side(PyObject* module) { side = module; }

PyObject* checked(PyObject* object) {
  if (object == nullptr) give_up();
  return object;
}

PyObject* side_attribute(const char* name) { return attribute(side, name); }

std::string text_of(PyObject* object) {
  ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(object, &size);
  if (text == nullptr) return text_with_escapes(object);
  std::string copy(text, static_cast<std::size_t>(size));
  Py_DecRef(object);
  return copy;
}

long number_of(PyObject* object) {
  const long number = PyLong_AsLong(object);
  Py_DecRef(object);
  return number;
}

Outcome read_outcome(PyObject* result) {
  if (PyObject_IsTrue(result) == 0) {
    Py_DecRef(result);
    return Outcome::kSuspended;
  }
  const std::string kind = text_of(PySequence_GetItem(result, 0));
  const auto number = static_cast<int>(number_of(PySequence_GetItem(result, 1)));
  std::string text = text_of(PySequence_GetItem(result, 2));
  Py_DecRef(result);
  if (kind == "exit") exit(number);
  if (kind == "end") return Outcome::kFinished;
  caught.any = true;
  caught.line = number;
  caught.text = std::move(text);
  return Outcome::kRaised;
}

const torch_side::Caught& last_caught() { return caught; }

namespace torch_side {

std::string version() { return text_of(call(side_attribute("version"))); }
std::string cpu_capability() { return text_of(call(side_attribute("cpu_capability"))); }

void import_for(const char* kind) {
  Py_DecRef(call(side_attribute("import_for"), checked(PyUnicode_FromString(kind))));
}

void warm_up(const char* kind) {
  Py_DecRef(call(side_attribute("warm_up"), checked(PyUnicode_FromString(kind))));
}

void prepare(int threads) {
  Py_DecRef(call(side_attribute("prepare"), checked(PyLong_FromLong(threads))));
}

void use_stack(void* lowest, uint64_t size) {
  if (PyUnstable_ThreadState_SetStackProtection == nullptr) return;
  if (lowest == nullptr) {
    PyUnstable_ThreadState_ResetStackProtection(PyThreadState_Get());
  } else if (PyUnstable_ThreadState_SetStackProtection(PyThreadState_Get(), lowest, size) != 0) {
    give_up();
  }
}

// CPython specialises code that has run eight times, and settles within a few iterations after
// that.
uint64_t warm_up_for(uint64_t iterations) {
  if (iterations >= 12) return 28;
  if (iterations >= 6) return 20;
  return iterations >= 2 ? 16 : 2;
}

// An entry is a call and a range(): about 1,600 instructions.
BlockEntry block_entry() {
  return {.max_ir = 3000, .is_same_for_one = false, .has_collisions = true};
}
// A range() makes objects for numbers above 256; those below always exist.
uint64_t max_block() { return 256; }

Caught run_guarded(void (*body)(void*), void* argument) {
  caught = Caught{};
  body(argument);
  return caught;
}

}  // namespace torch_side
}  // namespace instr
