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

#include <algorithm>

#include "worker/counted/map_at.h"
#include "worker/counted/snippet_stack.h"
#include "worker/python/side.h"

namespace instr {
namespace {

constexpr uintptr_t kBase = 0x5'D000'0000;  // an address between the snippet's stack and its arena
static_assert(snippet_stack::kTop < kBase);

// The entry of the cache follows from the address within a page of 32 KiB, and that from the text
// alone. Which page it is may depend on the other names: that affects nothing.
constexpr uint32_t kUnit = 16;
constexpr uint32_t kUnitsInPage = 2048;
constexpr uint32_t kPages = 512;   // PyTorch with its compiler has 60,000 names, of 4 MB
constexpr uint32_t kMaxUnits = 9;  // longer names are not placed
constexpr uint32_t kMaxNames = 120'000;
constexpr uint32_t kUnits = kPages * kUnitsInPage;

bool is_taken[kUnits + kMaxUnits];

// FNV-1a.
uint32_t hash_of(const char* text) {
  uint32_t hash = 2166136261;
  for (; *text != 0; ++text) hash = (hash ^ static_cast<uint8_t>(*text)) * 16777619;
  return hash;
}

bool is_free(uint32_t begin, uint32_t units) {
  return std::find(is_taken + begin, is_taken + begin + units, true) == is_taken + begin + units;
}

// Returns the first unit of free memory for a name, in any page. The table is never full.
uint32_t find_free(const char* name, uint32_t units) {
  const uint32_t hash = hash_of(name);
  uint32_t at = hash % kUnits;
  while (!is_free(at, units)) at = (at + kUnitsInPage) % kUnits;
  return at;
}

// Copies a string object, whose text is in the object itself, to its place, and makes the copy
// the one that the interpreter uses for each such name from now on.
void place(const char* name) {
  PyObject* const text = checked(PyUnicode_FromString(name));
  const std::size_t bytes = malloc_usable_size(text);  // the requested size (arena.cpp)
  const auto units = static_cast<uint32_t>((bytes + kUnit - 1) / kUnit);
  if (units != 0 && units <= kMaxUnits) {
    const uint32_t at = find_free(name, units);
    std::fill_n(is_taken + at, units, true);
    auto* const slot = reinterpret_cast<uint8_t*>(kBase + uintptr_t{at} * kUnit);
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
  const bool is_mapped =
      instr::map_at(instr::kBase, (instr::kUnits + instr::kMaxUnits) * instr::kUnit);
  if (lines == MAP_FAILED || !is_mapped) return;
  char* line = static_cast<char*>(lines);
  char* const end = line + size;
  for (uint32_t count = 0; line < end && count < instr::kMaxNames; ++count) {
    auto* const line_end =
        static_cast<char*>(memchr(line, '\n', static_cast<std::size_t>(end - line)));
    if (line_end == nullptr) break;
    *line_end = 0;
    instr::place(line);
    line = line_end + 1;
  }
  munmap(lines, size + 1);
}
