// The native worker for Python: the interpreter's own process, in which serve.py loads this.
#include "worker/native/native_host.h"
#include "worker/python/side.h"

// Called by serve.py, which passes itself.
extern "C" void instr_serve(PyObject* side) {
  instr::set_side(side);
  instr::serve_natively();
}
