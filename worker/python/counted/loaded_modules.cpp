#include "worker/python/side.h"
#include "worker/torch_side.h"

namespace instr::torch_side {

namespace {

// The files of the modules that were imported after the last one of the zygote's. Evaluated once
// the snippet is counted, and no part of serve.py: counts do not depend on this text.
constexpr const char* kImported = R"('\n'.join(
    str(getattr(module, '__file__', None) or '')
    for name, module in __import__('itertools').takewhile(
        lambda item: item[0] != 'instr_lookups',
        reversed(list(__import__('sys').modules.items())))
).encode('utf-8', 'replace').decode())";

}  // namespace

std::string loaded_modules() {
  PyObject* builtins = PyImport_ImportModule("builtins");
  if (builtins == nullptr) return "";
  PyObject* names = PyObject_CallFunctionObjArgs(
      attribute(builtins, "eval"), checked(PyUnicode_FromString(kImported)),
      call(attribute(builtins, "dict")), static_cast<PyObject*>(nullptr));
  if (names != nullptr) return text_of(names);
  PyErr_Clear();  // a module of the snippet raised it
  return "";
}

}  // namespace instr::torch_side
