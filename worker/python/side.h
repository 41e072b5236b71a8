// serve.py, which does whatever can be said in Python, and how it is called.
#pragma once

#include <stdlib.h>

#include <string>
#include <string_view>

#include "worker/python/api.h"
#include "worker/torch_side.h"

namespace instr {

// To be called first.
void set_side(PyObject* module);

// An error in serve.py itself, or lack of memory, ends the process with Python's message.
PyObject* checked(PyObject* object);

// Takes the arguments.
template <class... Arguments>
PyObject* call(PyObject* function, Arguments... arguments) {
  PyObject* result = checked(
      PyObject_CallFunctionObjArgs(function, arguments..., static_cast<PyObject*>(nullptr)));
  (Py_DecRef(arguments), ...);
  Py_DecRef(function);
  return result;
}

// The attribute of serve.py or of another object.
PyObject* side_attribute(const char* name);
inline PyObject* attribute(PyObject* object, const char* name) {
  return checked(PyObject_GetAttrString(object, name));
}

inline PyObject* bytes_of(std::string_view text) {
  return checked(PyBytes_FromStringAndSize(text.data(), static_cast<ssize_t>(text.size())));
}

// Take the object.
std::string text_of(PyObject* object);
long number_of(PyObject* object);

// What came of code, as serve.py describes it; takes it.
enum class Came { kSuspended, kToItsEnd, kToAnException };
Came what_came_of(PyObject* described);

// Of the last kToAnException.
const torch_side::Caught& last_caught();

}  // namespace instr
