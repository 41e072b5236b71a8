// Runs a Python snippet to be counted, and starts the worker.
#include <valgrind/callgrind.h>

#include "worker/abi.h"
#include "worker/counted/serve.h"
#include "worker/python/counted/found_code.h"
#include "worker/python/counted/processor.h"
#include "worker/python/counted/settled_code.h"
#include "worker/python/side.h"

namespace instr {
namespace {

instr_context* context = nullptr;

PyObject* next_block(PyObject*, PyObject*) {
  return PyLong_FromUnsignedLongLong(context->next_block(context));
}

// Switches simulation: code that is not counted runs much faster without.
PyObject* simulate(PyObject*, PyObject* on) {
  if (PyObject_IsTrue(on) != 0) {
    CALLGRIND_START_INSTRUMENTATION;
  } else {
    CALLGRIND_STOP_INSTRUMENTATION;
  }
  return PyLong_FromLong(0);
}

void run(std::string_view code, instr_context* given) {
  static PyMethodDef next_block_method{"next_block", next_block, METH_O, nullptr};
  static PyMethodDef simulate_method{"simulate", simulate, METH_O, nullptr};
  context = given;
  read_outcome(call(side_attribute("run"), bytes_of(code),
                    checked(PyCFunction_NewEx(&next_block_method, nullptr, nullptr)),
                    checked(PyCFunction_NewEx(&simulate_method, nullptr, nullptr))));
}

}  // namespace

void run_python_snippet(instr_context* given) { run(found_code(), given); }
void run_python_empty_snippet(instr_context* given) { run(empty_code(), given); }

}  // namespace instr

// Called by serve.py, which passes itself.
extern "C" void instr_serve(PyObject* side) {
  instr::set_side(side);
  instr::learn_adaptation();
  instr::describe_processor();
  instr::serve();
}
