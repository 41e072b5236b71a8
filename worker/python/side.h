// Calls of serve.py, the Python part of the worker.
#pragma once

#include <stdlib.h>

#include <string>
#include <string_view>

#include "worker/python/api.h"
#include "worker/torch_side.h"

namespace instr {

// The target of find_code() (worker/unit.h): a marshalled code object.
using PythonCode = std::string;

// Sets the module of serve.py. To be called first.
void set_side(PyObject* module);

// Returns the object, or, if null, ends the process with Python's message: an error in serve.py.
PyObject* checked(PyObject* object);

// Calls a function; releases it and the arguments.
template <class... Arguments>
PyObject* call(PyObject* function, Arguments... arguments) {
  PyObject* result = checked(
      PyObject_CallFunctionObjArgs(function, arguments..., static_cast<PyObject*>(nullptr)));
  (Py_DecRef(arguments), ...);
  Py_DecRef(function);
  return result;
}

// An attribute of serve.py.
PyObject* side_attribute(const char* name);
inline PyObject* attribute(PyObject* object, const char* name) {
  return checked(PyObject_GetAttrString(object, name));
}

inline PyObject* bytes_of(std::string_view text) {
  return checked(PyBytes_FromStringAndSize(text.data(), static_cast<ssize_t>(text.size())));
}

// These release the object.
std::string text_of(PyObject* object);
long number_of(PyObject* object);

// How Python code ended. `result` is as serve.py returns it, and is released.
enum class Outcome { kSuspended, kFinished, kRaised };
Outcome read_outcome(PyObject* result);

// The exception of the last kRaised.
const torch_side::Caught& last_caught();

}  // namespace instr
