// Runs a Python snippet to be counted, and starts the worker.
#include <valgrind/callgrind.h>

#include "worker/abi.h"
#include "worker/counted/host.h"
#include "worker/python/counted/processor.h"
#include "worker/python/counted/settled_code.h"
#include "worker/python/side.h"
#include "worker/unit.h"

namespace instr {
namespace {

// Set by find_snippet(), since the functions that run these have no parameter for code.
const PythonCode* snippet = nullptr;
const PythonCode* empty = nullptr;
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

void run_snippet_code(instr_context* given) { run(*snippet, given); }
void run_empty_code(instr_context* given) { run(*empty, given); }

}  // namespace

FoundSnippet find_snippet(const std::string& symbol) {
  snippet = static_cast<const PythonCode*>(find_code(symbol));
  empty = static_cast<const PythonCode*>(find_code(INSTR_EMPTY_SNIPPET));
  return {snippet == nullptr ? nullptr : run_snippet_code,
          empty == nullptr ? nullptr : run_empty_code};
}

}  // namespace instr

// Called by serve.py, which passes itself.
extern "C" void instr_serve(PyObject* side) {
  instr::set_side(side);
  instr::learn_adaptation();
  instr::describe_processor();
  instr::serve();
}
