// The worker for C++: links LibTorch, runs under Callgrind, knows nothing of definitions.
#include <stdio.h>
#include <string.h>

#include "worker/torch_side.h"
#include "worker/wire.h"
#include "worker/zygote.h"

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "--version") == 0) {
    printf("worker %s for LibTorch %s\n", instr::wire::kWorkerVersion,
           instr::torch_side::version().c_str());
    return 0;
  }
  if (argc == 2 && strcmp(argv[1], "--zygote=eager") == 0) instr::serve_as_zygote("eager");
  if (argc == 2 && strcmp(argv[1], "--zygote=torchscript") == 0) {
    instr::serve_as_zygote("torchscript");
  }
  return 2;
}
