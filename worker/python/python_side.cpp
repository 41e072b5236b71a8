// LibTorch and the interpreter, both behind Python: serve.py does whatever can be said in Python.
#include <stdlib.h>

#include "worker/abi.h"
#include "worker/python/api.h"
#include "worker/python/loaded_code.h"
#include "worker/torch_side.h"
#include "worker/zygote.h"

namespace instr {
namespace {

PyObject* side = nullptr;  // the module serve.py
instr_context* context = nullptr;
torch_side::Caught caught;

// An error in serve.py itself, or memory has run out.
[[noreturn]] void give_up() {
  PyErr_Print();
  abort();
}

PyObject* checked(PyObject* object) {
  if (object == nullptr) give_up();
  return object;
}

// Takes the arguments.
template <class... Arguments>
PyObject* call(const char* name, Arguments... arguments) {
  PyObject* function = checked(PyObject_GetAttrString(side, name));
  PyObject* result = checked(
      PyObject_CallFunctionObjArgs(function, arguments..., static_cast<PyObject*>(nullptr)));
  (Py_DecRef(arguments), ...);
  Py_DecRef(function);
  return result;
}

std::string text_of(PyObject* object) {
  ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(object, &size);
  if (text == nullptr) give_up();
  std::string copy(text, static_cast<std::size_t>(size));
  Py_DecRef(object);
  return copy;
}

long number_of(PyObject* object) {
  const long number = PyLong_AsLong(object);
  Py_DecRef(object);
  return number;
}

PyObject* next_block(PyObject*, PyObject*) {
  return PyLong_FromUnsignedLongLong(context->next_block(context));
}

void run(std::string_view code, instr_context* given) {
  static PyMethodDef method{"next_block", next_block, METH_O, nullptr};
  context = given;
  PyObject* result =
      call("run", PyBytes_FromStringAndSize(code.data(), static_cast<ssize_t>(code.size())),
           PyCFunction_NewEx(&method, nullptr, nullptr));
  if (PyObject_IsTrue(result) == 0) return;
  const std::string how = text_of(PySequence_GetItem(result, 0));
  const long number = number_of(PySequence_GetItem(result, 1));
  if (how == "exit") exit(static_cast<int>(number));
  caught.any = true;
  caught.line = static_cast<int>(number);
  caught.text = text_of(PySequence_GetItem(result, 2));
}

}  // namespace

void run_python_snippet(instr_context* given) { run(found_code(), given); }
void run_python_empty_snippet(instr_context* given) { run(empty_code(), given); }

namespace torch_side {

std::string version() { return text_of(call("version")); }
std::string cpu_capability() { return text_of(call("cpu_capability")); }

void warm_up(const char* kind) { Py_DecRef(call("warm_up", PyUnicode_FromString(kind))); }

void prepare(int threads) { Py_DecRef(call("prepare", PyLong_FromLong(threads))); }

// CPython specialises an instruction after some executions. Where it fails it tries again, after
// twice as many each time: 9, 25, 57, 121, 249 iterations after the first. The counted blocks, four
// times `iterations`, are between two of these.
uint64_t warm_up_for(uint64_t iterations) {
  if (iterations >= 24) return 124;
  if (iterations >= 12) return 60;
  return iterations >= 6 ? 28 : 2;
}

Caught run_guarded(void (*body)(void*), void* argument) {
  caught = Caught{};
  body(argument);
  return caught;
}

}  // namespace torch_side
}  // namespace instr

// Called by serve.py, which passes itself.
extern "C" void instr_serve(PyObject* given, const char* kind) {
  instr::side = given;
  instr::serve_as_zygote(kind);
}
