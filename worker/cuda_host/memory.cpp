#include "memory.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <new>

#include "device.h"

namespace instr::cuda_host {
namespace {

constexpr size_t kArenaBytes = size_t{64} << 20;
constexpr size_t kMinObject = 32;
constexpr size_t kObjectClasses = 24;
constexpr size_t kGranularity = size_t{2} << 20;  // the unit of allocations on the device

// Far from the addresses of ordinary mappings, and below 8 TiB, where Valgrind has its own memory.
constexpr uintptr_t kDeviceBase = 0x200'0000'0000;
constexpr size_t kDeviceRange = size_t{256} << 30;
// Device memory cannot be accessed through its addresses, as on a real machine. The bytes lie here.
constexpr uintptr_t kShadowBase = 0x240'0000'0000;
constexpr uintptr_t kPinnedBase = 0x280'0000'0000;
constexpr size_t kPinnedRange = size_t{64} << 30;

struct FreeObject {
  FreeObject* next;
};

// An allocation, or a registered range of host memory. Lists are sorted by address.
struct Block {
  uintptr_t begin;
  size_t size;
  Block* next;
};

alignas(64) char arena[kArenaBytes];
size_t arena_used = 0;
FreeObject* free_objects[kObjectClasses];
bool arena_locked = false;

// The last copy to an address of the device.
struct Copied {
  uintptr_t address;
  size_t size;
};
constexpr size_t kMaxCopied = 1 << 16;
Copied copied[kMaxCopied];

Block* allocations[2];
Block* registered = nullptr;
size_t device_used = 0;
bool blocks_locked = false;

void map(uintptr_t base, size_t size, int protection) {
  void* const at = reinterpret_cast<void*>(base);
  if (mmap(at, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
           -1, 0) == at) {
    return;
  }
  fprintf(stderr, "CUDA stand-in: %zu GiB of address space at %p cannot be reserved\n", size >> 30,
          at);
  _exit(1);
}

// Reserves all addresses at the first allocation: programs that do not use CUDA are not affected.
void reserve_addresses() {
  static bool is_reserved = false;
  if (is_reserved) return;
  is_reserved = true;
  map(kDeviceBase, kDeviceRange, PROT_NONE);
  map(kShadowBase, kDeviceRange, PROT_READ | PROT_WRITE);
  map(kPinnedBase, kPinnedRange, PROT_READ | PROT_WRITE);
}

size_t find_class(size_t size) {
  return static_cast<size_t>(std::bit_width((size - 1) / kMinObject));
}

bool is_in(const void* address, uintptr_t base, size_t size) {
  return reinterpret_cast<uintptr_t>(address) - base < size;
}

char* find_bytes(const void* address) {
  const uintptr_t offset = is_device_address(address) ? kShadowBase - kDeviceBase : 0;
  return reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(address) + offset);
}

void insert_block(Block** after, uintptr_t begin, size_t size) {
  auto* const block = create<Block>();
  *block = {begin, size, *after};
  *after = block;
}

bool remove_block(Block** list, const void* begin, size_t* size) {
  for (Block** at = list; *at != nullptr; at = &(*at)->next) {
    Block* const block = *at;
    if (block->begin != reinterpret_cast<uintptr_t>(begin)) continue;
    *size = block->size;
    *at = block->next;
    destroy(block);
    return true;
  }
  return false;
}

}  // namespace

void* allocate_object(size_t size) {
  const SpinLock lock(arena_locked);
  const size_t size_class = find_class(size);
  if (FreeObject* const object = free_objects[size_class]) {
    free_objects[size_class] = object->next;
    fill_memory(object, 0, size);
    return object;
  }
  const size_t rounded = kMinObject << size_class;
  if (arena_used + rounded > kArenaBytes) {
    fputs("CUDA stand-in: its memory for objects is full\n", stderr);
    _exit(1);
  }
  arena_used += rounded;
  return arena + arena_used - rounded;
}

void free_object(void* object, size_t size) {
  const SpinLock lock(arena_locked);
  FreeObject*& list = free_objects[find_class(size)];
  list = new (object) FreeObject{list};
}

const char* keep_text(const char* text) {
  const size_t size = strlen(text) + 1;
  return static_cast<const char*>(memcpy(allocate_object(size), text, size));
}

void* allocate_memory(MemoryKind kind, size_t size) {
  const bool on_device = kind == MemoryKind::kDevice;
  const uintptr_t end = on_device ? kDeviceBase + kDeviceRange : kPinnedBase + kPinnedRange;
  if (size > kDeviceRange) return nullptr;
  const size_t rounded = (size + kGranularity - 1) / kGranularity * kGranularity;
  const SpinLock lock(blocks_locked);
  reserve_addresses();
  if (on_device && device_used + rounded > device().memory_bytes) return nullptr;
  uintptr_t begin = on_device ? kDeviceBase : kPinnedBase;
  Block** at = &allocations[static_cast<size_t>(kind)];
  for (; *at != nullptr && (*at)->begin - begin < rounded; at = &(*at)->next)
    begin = (*at)->begin + (*at)->size;
  if (end - begin < rounded) return nullptr;
  insert_block(at, begin, rounded);
  if (on_device) device_used += rounded;
  return reinterpret_cast<void*>(begin);
}

bool free_memory(MemoryKind kind, void* address) {
  const SpinLock lock(blocks_locked);
  size_t size = 0;
  if (!remove_block(&allocations[static_cast<size_t>(kind)], address, &size)) return false;
  madvise(find_bytes(address), size, MADV_DONTNEED);  // zeros for its next user
  if (kind == MemoryKind::kDevice) device_used -= size;
  return true;
}

void register_pinned(void* begin, size_t size) {
  const SpinLock lock(blocks_locked);
  insert_block(&registered, reinterpret_cast<uintptr_t>(begin), size);
}

bool unregister_pinned(void* begin) {
  const SpinLock lock(blocks_locked);
  size_t size = 0;
  return remove_block(&registered, begin, &size);
}

bool is_device_address(const void* address) { return is_in(address, kDeviceBase, kDeviceRange); }

bool is_pinned_address(const void* address) {
  if (is_in(address, kPinnedBase, kPinnedRange)) return true;
  const SpinLock lock(blocks_locked);
  for (const Block* block = registered; block != nullptr; block = block->next)
    if (is_in(address, block->begin, block->size)) return true;
  return false;
}

size_t count_free_device_bytes() { return device().memory_bytes - device_used; }

namespace {

// Copies by a loop: a call of memcpy() would count as the caller's C library.
void copy_bytes(char* to, const char* from, size_t size) {
  for (; size >= sizeof(uint64_t); size -= sizeof(uint64_t)) {
    uint64_t word;
    __builtin_memcpy(&word, from, sizeof word);
    __builtin_memcpy(to, &word, sizeof word);
    from += sizeof word;
    to += sizeof word;
  }
  while (size-- > 0) *to++ = *from++;
}

// Returns the entry of an address; an address of the same number modulo kMaxCopied replaces it.
Copied& find_copied(const void* address) {
  const auto number = reinterpret_cast<uintptr_t>(address);
  return copied[(number >> 4) * 0x9E3779B97F4A7C15u >> 48];
}

}  // namespace

// A copy from the device finds what was copied to exactly this place with this size, else zeros:
// anything else that lies there is left from an earlier tensor, whose place another one took.
void copy_memory(void* to, const void* from, size_t size) {
  const Copied& source = find_copied(from);
  const bool is_known =
      !is_device_address(from) ||
      (source.address == reinterpret_cast<uintptr_t>(from) && source.size == size);
  if (is_device_address(to)) {
    find_copied(to) = {is_known ? reinterpret_cast<uintptr_t>(to) : 0, size};
    if (!is_known) return;
  }
  if (is_known) {
    copy_bytes(find_bytes(to), find_bytes(from), size);
  } else {
    fill_memory(to, 0, size);
  }
}

void fill_memory(void* to, int value, size_t size) {
  if (is_device_address(to)) find_copied(to) = {reinterpret_cast<uintptr_t>(to), size};
  char* target = find_bytes(to);
  while (size-- > 0) *target++ = static_cast<char>(value);
}

}  // namespace instr::cuda_host
