// The native worker for Python: the interpreter's own process, in which serve.py loads this.
#include "worker/native/native_host.h"
#include "worker/python/side.h"

namespace instr {
namespace {

// Lets the modules beside serve.py be imported, also by snippets.
void find_own_modules() {
  PyObject* path = attribute(checked(PyImport_ImportModule("sys")), "path");
  Py_DecRef(call(attribute(path, "append"), side_attribute("folder")));
}

}  // namespace
}  // namespace instr

// Called by serve.py, which passes itself.
extern "C" void instr_serve(PyObject* side) {
  instr::set_side(side);
  instr::find_own_modules();
  instr::serve_natively();
}
