// Removes what only Valgrind's launcher needs from the environment, before LibTorch or an
// interpreter reads it: a snippet's calls of getenv() search the rest, and Python keeps a copy on
// the heap.
#include <stdlib.h>
#include <valgrind/valgrind.h>

namespace instr {
namespace {

// The worker for Python is preloaded by the launcher, too.
__attribute__((constructor)) void hide_variables() {
  if (RUNNING_ON_VALGRIND != 0) unsetenv("VALGRIND_LIB");
}

}  // namespace
}  // namespace instr
