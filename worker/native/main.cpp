// The native worker for C++: links LibTorch and Google Benchmark, knows nothing of definitions, and
// times snippets on request (worker/wire.h). It forks a process for each group of snippets, which
// starts the device and the threads that they need.
#include "worker/native/native_host.h"

int main() { instr::serve_natively(); }
