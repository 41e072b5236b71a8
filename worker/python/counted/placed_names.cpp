// Puts the names of attributes at addresses that follow from their text, before anything is
// imported. An address decides which entry of the interpreter's cache of methods a name uses. On
// the heap it would follow from all that was imported before, and a change of one module would move
// the collisions of all others.
#include <fcntl.h>
#include <malloc.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "worker/counted/map_at.h"
#include "worker/counted/snippet_stack.h"
#include "worker/python/side.h"

namespace instr {
namespace {

constexpr uintptr_t kBase = 0x5'D000'0000;  // an address between the snippet's stack and its arena
constexpr uint32_t kSlots = 1 << 17;        // PyTorch with its compiler has 60,000 names
constexpr std::size_t kSlotBytes = 144;
constexpr uint32_t kMaxNames = kSlots / 4 * 3;
static_assert(snippet_stack::kTop < kBase);

// FNV-1a.
uint32_t hash_of(const char* text) {
  uint32_t hash = 2166136261;
  for (; *text != 0; ++text) hash = (hash ^ static_cast<uint8_t>(*text)) * 16777619;
  return hash;
}

bool is_taken(const uint8_t* slot) {
  uint64_t references;
  memcpy(&references, slot, sizeof references);
  return references != 0;
}

// Copies a string object, whose text is in the object itself, to a free slot, and makes the copy
// the one that the interpreter uses for each such name from now on.
void place(const char* name, uint8_t* slots) {
  PyObject* const text = checked(PyUnicode_FromString(name));
  const std::size_t bytes = malloc_usable_size(text);  // the requested size (arena.cpp)
  if (bytes != 0 && bytes <= kSlotBytes) {
    uint32_t i = hash_of(name) % kSlots;
    while (is_taken(slots + i * kSlotBytes)) i = (i + 1) % kSlots;
    uint8_t* const slot = slots + i * kSlotBytes;
    memcpy(slot, text, bytes);
    auto* copy = reinterpret_cast<PyObject*>(slot);
    PyUnicode_InternInPlace(&copy);  // releases it if the interpreter has such a name already
  }
  Py_DecRef(text);
}

}  // namespace
}  // namespace instr

// Reads the names, one in each line, from a file of instr_lookups.py.
extern "C" void instr_place_names(const char* path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (file < 0 || fstat(file, &status) != 0) return;
  const auto size = static_cast<std::size_t>(status.st_size);
  // Not on the heap, which is to be the same however many names there are.
  void* const lines = mmap(nullptr, size + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
  close(file);
  const bool is_mapped = instr::map_at(instr::kBase, instr::kSlots * instr::kSlotBytes);
  if (lines == MAP_FAILED || !is_mapped) return;
  auto* const slots = reinterpret_cast<uint8_t*>(instr::kBase);
  char* line = static_cast<char*>(lines);
  char* const end = line + size;
  for (uint32_t count = 0; line < end && count < instr::kMaxNames; ++count) {
    auto* const line_end =
        static_cast<char*>(memchr(line, '\n', static_cast<std::size_t>(end - line)));
    if (line_end == nullptr) break;
    *line_end = 0;
    instr::place(line, slots);
    line = line_end + 1;
  }
  munmap(lines, size + 1);
}
