// Runs a Python snippet to be counted, and starts the worker.
#include "worker/abi.h"
#include "worker/counted/host.h"
#include "worker/counted/instrumentation.h"
#include "worker/counted/run_snippet.h"
#include "worker/python/counted/pins.h"
#include "worker/python/side.h"
#include "worker/torch_side.h"
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
    Py_DecRef(call(side_attribute("pin_type_versions")));
    start_instrumentation();
  } else {
    stop_instrumentation();
  }
  return PyLong_FromLong(0);
}

// Pins what differs between runs; `which` is a Pinned.
PyObject* pin(PyObject*, PyObject* which) {
  pin_answers(static_cast<Pinned>(PyLong_AsLong(which)));
  return PyLong_FromLong(0);
}

// Functions for PyTorch's counter of the instructions that compiling executes, whatever they are
// called with.
PyObject* begin(PyObject*, PyObject*) {
  note_compiling(true);
  return PyLong_FromLong(0);
}
PyObject* end(PyObject*, PyObject*) {
  note_compiling(false);
  return PyLong_FromLong(0);
}

// Ends a block early, so that what prepares the next call is not counted.
PyObject* end_early(PyObject*, PyObject*) {
  end_block();
  return PyLong_FromLong(0);
}

// Has one call counted, after so many others; for a test whose calls each need a preparation.
PyObject* count_one(PyObject*, PyObject* warmup) {
  count_once(static_cast<uint64_t>(PyLong_AsLong(warmup)));
  return PyLong_FromLong(0);
}

PyObject* make_function(PyMethodDef& method) {
  return checked(PyCFunction_NewEx(&method, nullptr, nullptr));
}

void run(std::string_view code, instr_context* given) {
  context = given;
  number_context_variables();
  read_outcome(call(side_attribute("run"), bytes_of(code)));
}

// Passes these functions to serve.py.
void connect() {
  static PyMethodDef next_block_method{"next_block", next_block, METH_O, nullptr};
  static PyMethodDef simulate_method{"simulate", simulate, METH_O, nullptr};
  static PyMethodDef pin_method{"pin", pin, METH_O, nullptr};
  static PyMethodDef begin_method{"begin_compiling", begin, METH_VARARGS, nullptr};
  static PyMethodDef end_method{"end_compiling", end, METH_VARARGS, nullptr};
  static PyMethodDef once_method{"count_once", count_one, METH_O, nullptr};
  static PyMethodDef end_early_method{"end_block", end_early, METH_O, nullptr};
  Py_DecRef(call(side_attribute("connect"), make_function(next_block_method),
                 make_function(simulate_method), make_function(pin_method),
                 make_function(begin_method), make_function(end_method), make_function(once_method),
                 make_function(end_early_method)));
}

void run_snippet_code(instr_context* given) { run(*snippet, given); }
void run_empty_code(instr_context* given) { run(*empty, given); }

void rehearse(instr_context* given) {
  context = given;
  Py_DecRef(call(side_attribute("rehearse")));
  forget_noted_code();
  // Runs after each count, too.
  torch_side::loaded_modules();
}

}  // namespace

namespace torch_side {

instr_snippet rehearsed_snippet() { return rehearse; }

bool has_interpreter() { return true; }

void reset_interpreter() {
  Py_DecRef(call(side_attribute("reset")));
  PyType_ClearCache();
}

}  // namespace torch_side

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
  instr::connect();
  instr::learn_adaptation();
  instr::describe_processor();
  instr::place_temporary_names();
  instr::serve();
}
