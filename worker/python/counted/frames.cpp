#include "worker/python/counted/frames.h"

#include <dlfcn.h>
#include <string.h>

namespace instr {
namespace {

// Functions outside the stable ABI, found when needed.
struct Api {
  void* (*interpreter)();
  Evaluator (*get)(void* interpreter);
  void (*set)(void* interpreter, Evaluator evaluator);
  PyObject* (*code)(void* frame);  // returns a new reference; null in CPython 3.11
};
Api api;

template <class Pointer>
bool find(Pointer& function, const char* name) {
  function = reinterpret_cast<Pointer>(dlsym(RTLD_DEFAULT, name));
  return function != nullptr;
}

}  // namespace

bool can_evaluate_frames() {
  const char* (*version)() = nullptr;
  const bool is_there = find(api.interpreter, "PyInterpreterState_Get") &&
                        find(api.get, "_PyInterpreterState_GetEvalFrameFunc") &&
                        find(api.set, "_PyInterpreterState_SetEvalFrameFunc") &&
                        find(version, "Py_GetVersion");
  if (!is_there || find(api.code, "PyUnstable_InterpreterFrame_GetCode")) return is_there;
  return strncmp(version(), "3.11.", 5) == 0 || find(api.code, "PyFrame_GetCode");
}

Evaluator replace_evaluator(Evaluator evaluator) {
  void* interpreter = api.interpreter();
  Evaluator before = api.get(interpreter);
  api.set(interpreter, evaluator);
  return before;
}

PyObject* code_of_frame(void* frame) {
  if (api.code == nullptr) return static_cast<PyObject**>(frame)[4];
  PyObject* code = api.code(frame);
  Py_DecRef(code);
  return code;
}

}  // namespace instr
