// Pins the addresses of the names that libtorch_python makes anew each time that it looks up an
// attribute. The interpreter's cache of methods keeps such a text until another entry replaces it,
// so that the next text gets another address, which may replace any other entry. On the heap the
// addresses would follow from all that the snippet, and a compiler in it, has allocated before.
//
// Here, the places of a text are the same within a page of 32 KiB, and follow from the text alone.
// So they have one entry of the cache: each text replaces the one before, as a lookup that always
// fails, and nothing else.
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

#include <algorithm>

#include "worker/counted/arena.h"
#include "worker/counted/run_snippet.h"
#include "worker/python/counted/pins.h"
#include "worker/python/side.h"

// Weak, since other programs that a snippet starts load this library, too. The second is missing
// before CPython 3.13.
extern "C" {
[[gnu::weak]] int PyObject_HasAttrString(PyObject* object, const char* name);
[[gnu::weak]] int PyObject_GetOptionalAttrString(PyObject* object, const char* name,
                                                 PyObject** value);
}

namespace instr {
namespace {

constexpr uint64_t kPage = 32 << 10;
constexpr uint64_t kBlockAlignment = 64;
// The interpreter's cache keeps names of this length at most, in objects of this size at most.
constexpr std::size_t kMaxLength = 100;
constexpr uint64_t kMaxBytes = 192;
// A text may be in the cache for several types at a time.
constexpr uint64_t kPlacesOfText = 16;
constexpr uint64_t kMaxTexts = kPlacesSize / kPage / kPlacesOfText;

// Not on the heap, whose state affects the snippet. A text's number is its index.
uint64_t hashes[kMaxTexts];
std::size_t text_count;
std::size_t bytes_beside_text;  // the header of an object and its final zero
pthread_t main_thread;

// The place for the text that is made next.
struct Offer {
  std::size_t bytes;
  void* place;
};
Offer offer{};

// Returns the text's number; kMaxTexts if there are too many.
uint64_t find_number(uint64_t hash) {
  uint64_t* const end = hashes + text_count;
  uint64_t* const found = std::find(hashes, end, hash);
  if (found == end && text_count != kMaxTexts) hashes[text_count++] = hash;
  return static_cast<uint64_t>(found - hashes);
}

// Returns a place for the text that has no object now; null if all have one.
void* find_place(uint64_t hash) {
  const uint64_t number = find_number(hash);
  if (number == kMaxTexts) return nullptr;
  const uint64_t place =
      1 + hash % ((kPage - kMaxBytes) / kBlockAlignment - 1);  // a header is before it
  char* at =
      static_cast<char*>(places()) + number * kPlacesOfText * kPage + place * kBlockAlignment;
  for (uint64_t i = 0; i < kPlacesOfText; ++i, at += kPage) {
    if (malloc_usable_size(at) == 0) return at;
  }
  return nullptr;
}

void withdraw() {
  if (offer.place != nullptr) withdraw_place(offer.bytes, offer.place);
  offer = {};
}

// Offers a place to a text of ASCII characters.
void make_offer(const char* text) {
  withdraw();  // the offer of the lookup in which this one happens, if any
  uint64_t hash = 14695981039346656037U;  // FNV-1a
  std::size_t length = 0;
  for (; text[length] != 0; ++length) {
    if (length == kMaxLength || (text[length] & 0x80) != 0) return;
    hash = (hash ^ static_cast<uint8_t>(text[length])) * 1099511628211U;
  }
  if (length < 2) return;  // the interpreter has these texts
  if (void* const place = find_place(hash); place != nullptr) {
    offer = {bytes_beside_text + length, place};
    offer_place(offer.bytes, offer.place);
  }
}

bool is_active() { return runs_snippet() && pthread_self() == main_thread; }

// Calls a function that first makes this text. Placing the text is not counted.
template <class Call>
auto with_place(const char* text, Call call) {
  const bool is_counted = is_collecting();
  if (is_counted) CALLGRIND_TOGGLE_COLLECT;
  if (is_active()) make_offer(text);
  if (is_counted) CALLGRIND_TOGGLE_COLLECT;
  const auto result = call();
  if (is_counted) CALLGRIND_TOGGLE_COLLECT;
  if (is_active()) withdraw();
  if (is_counted) CALLGRIND_TOGGLE_COLLECT;
  return result;
}

PyObject* from_string(const char* text) {
  return with_place(text, [=] { return PyUnicode_FromString(text); });
}

PyObject* get_attribute(PyObject* object, const char* name) {
  return with_place(name, [=] { return PyObject_GetAttrString(object, name); });
}

int has_attribute(PyObject* object, const char* name) {
  return with_place(name, [=] { return PyObject_HasAttrString(object, name); });
}

int get_optional_attribute(PyObject* object, const char* name, PyObject** value) {
  return with_place(name, [=] { return PyObject_GetOptionalAttrString(object, name, value); });
}

struct Replacement {
  const char* name;
  void* function;
};
const Replacement kReplacements[] = {
    {"PyUnicode_FromString", reinterpret_cast<void*>(from_string)},
    {"PyObject_GetAttrString", reinterpret_cast<void*>(get_attribute)},
    {"PyObject_HasAttrString", reinterpret_cast<void*>(has_attribute)},
    {"PyObject_GetOptionalAttrString", reinterpret_cast<void*>(get_optional_attribute)},
};

// A table of relocations.
struct Relocations {
  const ElfW(Rela) * first;
  uint64_t bytes;
};

// The dynamic section of a loaded object.
struct Dynamic {
  const ElfW(Sym) * symbols;
  const char* names;
  Relocations of_calls;
  Relocations others;
};

Dynamic read_dynamic(const ElfW(Dyn) * entry) {
  Dynamic read{};
  for (; entry->d_tag != DT_NULL; ++entry) {
    const auto at = entry->d_un.d_ptr;
    if (entry->d_tag == DT_SYMTAB) read.symbols = reinterpret_cast<const ElfW(Sym)*>(at);
    if (entry->d_tag == DT_STRTAB) read.names = reinterpret_cast<const char*>(at);
    if (entry->d_tag == DT_JMPREL) read.of_calls.first = reinterpret_cast<const ElfW(Rela)*>(at);
    if (entry->d_tag == DT_PLTRELSZ) read.of_calls.bytes = entry->d_un.d_val;
    if (entry->d_tag == DT_RELA) read.others.first = reinterpret_cast<const ElfW(Rela)*>(at);
    if (entry->d_tag == DT_RELASZ) read.others.bytes = entry->d_un.d_val;
  }
  return read;
}

// Overwrites an address that the loader has set, perhaps in memory that it protects afterwards.
void overwrite(ElfW(Addr) slot, void* value) {
  const auto page = static_cast<ElfW(Addr)>(sysconf(_SC_PAGESIZE));
  void* const begin = reinterpret_cast<void*>(slot & ~(page - 1));
  if (mprotect(begin, page, PROT_READ | PROT_WRITE) != 0) return;
  *reinterpret_cast<void**>(slot) = value;
}

void replace_in(const Relocations& table, const Dynamic& dynamic, ElfW(Addr) base) {
  const ElfW(Rela)* const end = table.first + table.bytes / sizeof(ElfW(Rela));
  for (const ElfW(Rela)* entry = table.first; entry != end; ++entry) {
    const auto type = ELF64_R_TYPE(entry->r_info);
    if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) continue;
    const char* const name = dynamic.names + dynamic.symbols[ELF64_R_SYM(entry->r_info)].st_name;
    for (const Replacement& it : kReplacements) {
      if (strcmp(it.name, name) == 0) overwrite(base + entry->r_offset, it.function);
    }
  }
}

bool contains(const dl_phdr_info& object, const void* address) {
  const auto offset = reinterpret_cast<ElfW(Addr)>(address) - object.dlpi_addr;
  return std::any_of(
      object.dlpi_phdr, object.dlpi_phdr + object.dlpi_phnum, [offset](const ElfW(Phdr) & segment) {
        return segment.p_type == PT_LOAD && offset - segment.p_vaddr < segment.p_memsz;
      });
}

// Has an object's calls come here, unless it is the interpreter or this library.
int replace_calls(dl_phdr_info* object, size_t, void*) {
  if (contains(*object, reinterpret_cast<void*>(PyObject_HasAttrString)) ||
      contains(*object, reinterpret_cast<void*>(from_string))) {
    return 0;
  }
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_DYNAMIC) continue;
    const Dynamic dynamic =
        read_dynamic(reinterpret_cast<const ElfW(Dyn)*>(object->dlpi_addr + segment.p_vaddr));
    replace_in(dynamic.of_calls, dynamic, object->dlpi_addr);
    replace_in(dynamic.others, dynamic, object->dlpi_addr);
  }
  return 0;
}

}  // namespace

void place_temporary_names() {
  constexpr const char* kText = "instr";
  PyObject* const text = checked(PyUnicode_FromString(kText));
  bytes_beside_text = malloc_usable_size(text) - strlen(kText);  // the requested size (arena.cpp)
  Py_DecRef(text);
  main_thread = pthread_self();
  dl_iterate_phdr(replace_calls, nullptr);
}

}  // namespace instr
