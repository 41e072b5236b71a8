#include "worker/arena.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <atomic>
#include <bit>

// Start-up memory lies above all that Valgrind maps for the program and below the fresh arena.
namespace instr {
namespace {

constexpr std::uintptr_t kStartArenaBase = 0x2'0000'0000;
constexpr std::uint64_t kStartArenaSize = std::uint64_t{8} << 30;

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kHeaderSpace = kAlignment;
constexpr unsigned kSmallClasses = 16;  // multiples of 64 up to 1024, then four steps to a doubling
constexpr unsigned kClasses = kSmallClasses + 4 * 32 + 2;
constexpr std::size_t kLargestRequest = std::size_t{1} << 40;
constexpr std::uint32_t kMagic = 0x1A7B10C5;

// Lies right below the payload.
struct Header {
  Header* next;          // free list
  std::uint64_t size;    // as asked for
  std::uint64_t offset;  // of the payload in its block; more than kHeaderSpace for wide alignments
  std::uint32_t size_class;
  std::uint32_t magic;
};
static_assert(sizeof(Header) <= kHeaderSpace);

struct SizeClass {
  unsigned index;
  std::size_t bytes;
};

// The smallest class that holds `size` bytes.
inline SizeClass class_of(std::size_t size) {
  std::size_t last = size - (size != 0);  // 0 is served as 1
  if (last < kSmallClasses * kAlignment) {
    unsigned index = static_cast<unsigned>(last / kAlignment);
    return {index, (index + 1) * kAlignment};
  }
  unsigned power = static_cast<unsigned>(std::bit_width(last)) - 1;  // 10 or more
  unsigned step = power - 2;
  unsigned index = kSmallClasses + (power - 10) * 4 + ((last >> step) & 3);
  return {index, ((last >> step) + 1) << step};
}

// Uncontended it is the same few instructions always; contended it yields, since Valgrind runs one
// thread at a time and spinning would keep the holder from going on.
class Lock {
 public:
  void lock() {
    while (taken_.exchange(1, std::memory_order_acquire) != 0) sched_yield();
  }
  void unlock() { taken_.store(0, std::memory_order_release); }

 private:
  std::atomic<int> taken_{0};
};

struct Arena {
  Lock lock;
  bool ready = false;
  bool fresh = false;
  std::atomic<bool> exhausted{false};
  std::uintptr_t base = 0;  // blocks below or above are not ours: freed into nothing
  std::uintptr_t top = 0;
  std::uintptr_t end = 0;
  ArenaCounters counters;
  Header* free_blocks[kClasses] = {};
};

// The one global of this file: malloc has no other place to keep its state. Needs no constructor to
// run, since ld.so calls malloc before any has.
constinit Arena arena;

bool map_at(std::uintptr_t base, std::uint64_t size) {
  void* wanted = reinterpret_cast<void*>(base);
  void* got = mmap(wanted, size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == wanted) return true;
  if (got != MAP_FAILED) munmap(got, size);
  return false;
}

void use_memory(std::uintptr_t base, std::uint64_t size) {
  arena.base = base;
  arena.top = base;
  arena.end = base + size;
  arena.counters = ArenaCounters{};
  memset(arena.free_blocks, 0, sizeof arena.free_blocks);
}

void take_lock() { arena.lock.lock(); }
void give_lock() { arena.lock.unlock(); }

[[gnu::noinline, gnu::cold]] void start() {
  arena.ready = true;
  if (!map_at(kStartArenaBase, kStartArenaSize)) abort();
  use_memory(kStartArenaBase, kStartArenaSize);
}

// A child of fork() must not inherit a lock that another thread held.
[[gnu::constructor]] void guard_forks() { pthread_atfork(take_lock, give_lock, give_lock); }

[[gnu::noinline, gnu::cold]] void* refuse() {
  arena.exhausted.store(true, std::memory_order_relaxed);
  arena.lock.unlock();
  errno = ENOMEM;
  return nullptr;
}

inline void count_in(std::size_t size) {
  ArenaCounters& counters = arena.counters;
  counters.allocs += 1;
  counters.alloc_bytes += size;
  counters.live_bytes += static_cast<std::int64_t>(size);
  std::int64_t live = counters.live_bytes;
  std::int64_t peak = counters.peak_bytes;
  counters.peak_bytes = live > peak ? live : peak;
}

// Payload of `size` bytes, aligned to `alignment` (a power of two, 64 or more).
inline void* allocate(std::size_t size, std::size_t alignment) {
  if (!arena.ready) start();
  std::size_t slack = alignment - kAlignment;
  std::size_t wanted = size + slack;
  if (size > kLargestRequest || alignment > kLargestRequest) wanted = kLargestRequest;
  SizeClass size_class = class_of(wanted);
  arena.lock.lock();
  std::uintptr_t block;
  Header* found = arena.free_blocks[size_class.index];
  if (found != nullptr) {
    arena.free_blocks[size_class.index] = found->next;
    block = reinterpret_cast<std::uintptr_t>(found + 1) - found->offset;
  } else {
    block = arena.top;
    if (size_class.bytes + kHeaderSpace > arena.end - block) return refuse();
    arena.top = block + size_class.bytes + kHeaderSpace;
  }
  count_in(size);
  arena.lock.unlock();
  std::uintptr_t payload = (block + kHeaderSpace + slack) & ~(std::uintptr_t{alignment} - 1);
  Header* header = reinterpret_cast<Header*>(payload) - 1;
  header->size = size;
  header->offset = payload - block;
  header->size_class = size_class.index;
  header->magic = kMagic;
  return reinterpret_cast<void*>(payload);
}

inline bool is_ours(const void* payload) {
  std::uintptr_t at = reinterpret_cast<std::uintptr_t>(payload);
  return at - arena.base < arena.end - arena.base;
}

inline Header* header_of(void* payload) { return static_cast<Header*>(payload) - 1; }

// Blocks of the other arena, and null, go nowhere.
inline void release(void* payload) {
  if (!is_ours(payload)) return;
  Header* header = header_of(payload);
  if (header->magic != kMagic) abort();  // freed twice, or never allocated
  header->magic = 0;
  arena.lock.lock();
  arena.counters.live_bytes -= static_cast<std::int64_t>(header->size);
  header->next = arena.free_blocks[header->size_class];
  arena.free_blocks[header->size_class] = header;
  arena.lock.unlock();
}

bool was_allocated(void* payload) {
  std::uintptr_t at = reinterpret_cast<std::uintptr_t>(payload);
  bool at_start = at - kStartArenaBase < kStartArenaSize;
  return (at_start || is_ours(payload)) && header_of(payload)->magic == kMagic;
}

}  // namespace

bool open_fresh_arena(std::uint64_t limit) {
  if (arena.fresh) return false;
  std::uint64_t size = limit == 0 || limit > kFreshArenaSize ? kFreshArenaSize : limit;
  if (!map_at(kFreshArenaBase, size)) return false;
  arena.lock.lock();
  arena.ready = true;
  arena.fresh = true;
  use_memory(kFreshArenaBase, size);
  arena.lock.unlock();
  return true;
}

ArenaCounters arena_counters() { return arena.counters; }

void reset_arena_peak() { arena.counters.peak_bytes = arena.counters.live_bytes; }

bool arena_was_exhausted() { return arena.exhausted.load(std::memory_order_relaxed); }

}  // namespace instr

// What the C library calls them; also what operator new and posix_memalign of every library reach.
extern "C" {

void* malloc(std::size_t size) { return instr::allocate(size, instr::kAlignment); }

void free(void* payload) { instr::release(payload); }

void* calloc(std::size_t count, std::size_t size) {
  std::size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  void* payload = instr::allocate(bytes, instr::kAlignment);
  // Fresh memory is zero already, but then cost would depend on whether the block was used before.
  if (payload != nullptr) memset(payload, 0, bytes);
  return payload;
}

void* realloc(void* old, std::size_t size) {
  if (old == nullptr) return malloc(size);
  if (size == 0) {
    free(old);
    return nullptr;
  }
  if (!instr::was_allocated(old)) abort();
  void* payload = malloc(size);
  if (payload == nullptr) return nullptr;
  std::size_t old_size = instr::header_of(old)->size;
  memcpy(payload, old, old_size < size ? old_size : size);
  free(old);
  return payload;
}

void* reallocarray(void* old, std::size_t count, std::size_t size) {
  std::size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return realloc(old, bytes);
}

int posix_memalign(void** out, std::size_t alignment, std::size_t size) {
  if (!std::has_single_bit(alignment) || alignment < sizeof(void*)) return EINVAL;
  int saved = errno;  // reports by its result alone
  void* payload =
      instr::allocate(size, alignment < instr::kAlignment ? instr::kAlignment : alignment);
  errno = saved;
  if (payload == nullptr) return ENOMEM;
  *out = payload;
  return 0;
}

void* memalign(std::size_t alignment, std::size_t size) {
  std::size_t power = std::bit_ceil(alignment);
  return instr::allocate(size, power < instr::kAlignment ? instr::kAlignment : power);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) { return memalign(alignment, size); }

void* valloc(std::size_t size) { return memalign(4096, size); }

void* pvalloc(std::size_t size) { return memalign(4096, (size + 4095) & ~std::size_t{4095}); }

std::size_t malloc_usable_size(void* payload) {
  return payload == nullptr || !instr::was_allocated(payload) ? 0
                                                              : instr::header_of(payload)->size;
}

int malloc_trim(std::size_t) { return 0; }
}
