// Declares the functions of CPython that the worker uses. All but two are in the stable ABI, whose
// symbols the interpreter exports, so that neither its headers nor another libpython are needed.
#pragma once

#include <sys/types.h>

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
