// Removes what only Valgrind's launcher needed from the environment, before LibTorch or an
// interpreter reads it: a snippet's calls of getenv() search the rest, and Python keeps a copy on
// the heap.
#include <stdlib.h>

namespace instr {
namespace {

__attribute__((constructor)) void hide_variables() { unsetenv("VALGRIND_LIB"); }

}  // namespace
}  // namespace instr
