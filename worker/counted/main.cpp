// The worker for C++: links LibTorch, runs under Callgrind, knows nothing of definitions.
#include <stdio.h>
#include <string.h>

#include "worker/counted/host.h"
#include "worker/torch_side.h"
#include "worker/wire.h"

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "--version") == 0) {
    printf("worker %s for LibTorch %s\n", instr::wire::kWorkerVersion,
           instr::torch_side::version().c_str());
    return 0;
  }
  if (argc == 1) instr::serve();
  return 2;
}
