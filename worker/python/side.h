// Calls of serve.py, the Python part of the worker.
#pragma once

#include <stdlib.h>
#include <sys/types.h>

#include <string>
#include <string_view>

#include "worker/torch_side.h"

// The functions of CPython that the worker uses. All but two are in the stable ABI, whose symbols
// the interpreter exports, so that neither its headers nor another libpython are needed.
extern "C" {
struct _object;  // opaque
using PyObject = _object;
using PyCFunction = PyObject* (*)(PyObject* self, PyObject* arguments);
struct PyMethodDef {
  const char* ml_name;
  PyCFunction ml_meth;
  int ml_flags;
  const char* ml_doc;
};
inline constexpr int METH_VARARGS = 0x0001;
inline constexpr int METH_O = 0x0008;

PyObject* PyObject_GetAttrString(PyObject* object, const char* name);
PyObject* PyObject_CallFunctionObjArgs(PyObject* callable, ...);
PyObject* PyCFunction_NewEx(PyMethodDef* method, PyObject* self, PyObject* module);
PyObject* PyLong_FromLong(long value);
PyObject* PyLong_FromVoidPtr(void* pointer);
void* PyLong_AsVoidPtr(PyObject* object);
void* PyCapsule_GetPointer(PyObject* capsule, const char* name);
int PyCapsule_SetName(PyObject* capsule, const char* name);
PyObject* PyLong_FromUnsignedLongLong(unsigned long long value);
long PyLong_AsLong(PyObject* object);
PyObject* PyUnicode_FromString(const char* text);
void PyUnicode_InternInPlace(PyObject** text);
const char* PyUnicode_AsUTF8AndSize(PyObject* object, ssize_t* size);
PyObject* PyUnicode_AsEncodedString(PyObject* text, const char* encoding, const char* errors);
PyObject* PyBytes_FromStringAndSize(const char* bytes, ssize_t size);
char* PyBytes_AsString(PyObject* bytes);
ssize_t PySequence_Size(PyObject* sequence);
PyObject* PySequence_GetItem(PyObject* object, ssize_t index);
int PyObject_IsTrue(PyObject* object);
ssize_t PyObject_Hash(PyObject* object);
PyObject* PyImport_ImportModule(const char* name);
unsigned PyType_ClearCache();
void PyErr_Print();
void PyErr_Clear();
void Py_IncRef(PyObject* object);
void Py_DecRef(PyObject* object);
struct _ts;  // opaque
_ts* PyThreadState_Get();

// Not in the stable ABI: null before CPython 3.14.1.
[[gnu::weak]] int PyUnstable_ThreadState_SetStackProtection(_ts* thread, void* lowest, size_t size);
[[gnu::weak]] void PyUnstable_ThreadState_ResetStackProtection(_ts* thread);
}

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
