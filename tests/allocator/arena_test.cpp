#include "worker/counted/arena.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <map>
#include <new>
#include <random>
#include <thread>
#include <vector>

// The worker's allocator is linked into this program, so these are its malloc and free. Each test
// that opens a fresh arena does so in a child, since that can be done only once per process.
namespace instr {
namespace {

// Exit status of `body` run in a child: 0 if all its checks passed.
int in_child(const std::function<bool()>& body) {
  pid_t pid = fork();
  if (pid == 0) _exit(body() ? 0 : 1);
  int status = -1;
  waitpid(pid, &status, 0);
  return status;
}

// Hidden from the compiler, which knows malloc and removes seemingly unused calls.
void* (*volatile take)(std::size_t) = malloc;
void* (*volatile take_zeroed)(std::size_t, std::size_t) = calloc;
void (*volatile give)(void*) = free;

bool is_aligned(const void* payload, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(payload) % alignment == 0;
}

TEST(ArenaTest, BlocksAreAlignedAndKeepTheirContent) {
  std::mt19937 random(1);
  std::map<char*, std::pair<std::size_t, char>> live;
  for (int i = 0; i < 20000; ++i) {
    if (random() % 2 == 0 || live.empty()) {
      std::size_t size = random() % (i % 100 == 0 ? 300000 : 3000);
      auto* payload = static_cast<char*>(take(size));
      ASSERT_TRUE(is_aligned(payload, 64));
      char mark = static_cast<char>(random());
      memset(payload, mark, size);
      ASSERT_TRUE(live.emplace(payload, std::pair(size, mark)).second);
    } else {
      auto among = std::min<std::size_t>(live.size(), 50);
      auto victim = std::next(live.begin(), static_cast<long>(random() % among));
      auto [payload, content] = *victim;
      ASSERT_EQ(std::count(payload, payload + content.first, content.second),
                static_cast<long>(content.first));
      give(payload);
      live.erase(victim);
    }
  }
  for (auto& [payload, content] : live) give(payload);
}

TEST(ArenaTest, ABlocksAddressDependsOnlyOnLiveBlocks) {
  // Blocks freed in two different orders are returned again in one order.
  std::vector<void*> first, second;
  for (int round = 0; round < 2; ++round) {
    std::vector<void*> blocks;
    for (int i = 0; i < 300; ++i) blocks.push_back(take(777));
    (round == 0 ? first : second) = blocks;
    if (round == 0) std::shuffle(blocks.begin(), blocks.end(), std::mt19937(7));
    for (void* block : blocks) give(block);
  }
  EXPECT_EQ(first, second);
}

TEST(ArenaTest, CallocZeroesUsedBlocks) {
  auto* dirty = static_cast<char*>(take(5000));
  memset(dirty, 1, 5000);
  give(dirty);
  auto* clean = static_cast<char*>(take_zeroed(50, 100));
  EXPECT_EQ(clean, dirty);
  EXPECT_EQ(std::count(clean, clean + 5000, 0), 5000);
  give(clean);
}

TEST(ArenaTest, RequestsThatOverflowAreRefused) {
  volatile std::size_t huge = SIZE_MAX / 2 + 2;
  errno = 0;
  EXPECT_EQ(take_zeroed(huge, 2), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(reallocarray(nullptr, huge, 2), nullptr);
  EXPECT_EQ(take(huge), nullptr);
  EXPECT_EQ(take(SIZE_MAX - huge + huge), nullptr);
  void* out = nullptr;
  EXPECT_EQ(posix_memalign(&out, huge - 1, huge), ENOMEM);
  for (volatile std::size_t below : {0, 1, 4094, 4095}) {
    EXPECT_EQ(pvalloc(SIZE_MAX - below), nullptr) << below;
    EXPECT_EQ(valloc(SIZE_MAX - below), nullptr) << below;
    EXPECT_EQ(memalign(SIZE_MAX - below, 1), nullptr) << below;
  }
  EXPECT_EQ(memalign(huge + 1, 1), nullptr);
  void* pages = pvalloc(4097);
  EXPECT_EQ(malloc_usable_size(pages), 8192u);
  give(pages);
}

TEST(ArenaTest, ReallocKeepsContent) {
  auto* block = static_cast<char*>(take(10));
  memcpy(block, "123456789", 10);
  for (std::size_t size : {20, 2000, 200000, 100, 10}) {
    block = static_cast<char*>(realloc(block, size));
    EXPECT_STREQ(block, "123456789");
    EXPECT_EQ(malloc_usable_size(block), size);
  }
  EXPECT_EQ(realloc(block, 0), nullptr);
}

TEST(ArenaTest, WideAlignmentsHoldAndAreFreed) {
  for (std::size_t alignment : {8, 16, 64, 128, 4096, 1 << 21}) {
    void* blocks[3];
    for (void*& block : blocks) {
      ASSERT_EQ(posix_memalign(&block, alignment, 100), 0);
      EXPECT_TRUE(is_aligned(block, alignment));
      memset(block, 7, 100);
    }
    void* first = blocks[0];
    for (void* block : blocks) give(block);
    ASSERT_EQ(posix_memalign(&blocks[0], alignment, 100), 0);
    EXPECT_EQ(blocks[0], first);
    give(blocks[0]);
  }
  void* block = nullptr;
  EXPECT_EQ(posix_memalign(&block, 24, 100), EINVAL);
  block = aligned_alloc(256, 512);
  EXPECT_TRUE(is_aligned(block, 256));
  give(block);
}

TEST(ArenaTest, CountersAreExact) {
  reset_arena_peak();
  ArenaCounters before = arena_counters();
  void* a = take(100);
  void* b = take(1000);
  give(a);
  a = take_zeroed(3, 7);
  ArenaCounters after = arena_counters();
  give(a);
  give(b);
  ArenaCounters end = arena_counters();
  EXPECT_EQ(end.live_bytes, before.live_bytes);
  EXPECT_EQ(after.allocs - before.allocs, 3u);
  EXPECT_EQ(after.alloc_bytes - before.alloc_bytes, 1121u);
  EXPECT_EQ(after.live_bytes - before.live_bytes, 1021);
  EXPECT_EQ(after.peak_bytes - before.live_bytes, 1100);
}

TEST(ArenaTest, ManyThreadsDoNotDisturbEachOther) {
  std::int64_t before = arena_counters().live_bytes;
  {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([t] {
        std::vector<std::vector<int>> held;
        for (int i = 0; i < 20000; ++i) {
          held.emplace_back(static_cast<std::size_t>(i % 90 + 1), t);
          if (held.size() > 100) held.erase(held.begin());
          if (held.back().back() != t || held.front().front() != t) abort();
        }
      });
    }
    for (auto& thread : threads) thread.join();
  }
  EXPECT_NEAR(static_cast<double>(arena_counters().live_bytes - before), 0, 4096);
}

TEST(ArenaTest, AFreshArenaIgnoresEarlierBlocks) {
  EXPECT_EQ(in_child([] {
              void* old = take(500);
              memset(old, 5, 500);
              if (!open_fresh_arena(0, nullptr)) return false;
              bool zero = arena_counters().allocs == 0 && arena_counters().live_bytes == 0;
              give(old);  // does nothing
              bool untouched = arena_counters().live_bytes == 0;
              void* fresh = take(500);
              auto* moved = static_cast<char*>(realloc(old, 600));
              return zero && untouched && fresh != old && moved[499] == 5 &&
                     !open_fresh_arena(0, nullptr);
            }),
            0);
}

TEST(ArenaTest, NoBlockIsOneOfTheFirstIfAllAreToBeAlike) {
  EXPECT_EQ(in_child([] {
              if (!open_fresh_arena(0, nullptr, FirstBlocks::kAlike)) return false;
              constexpr unsigned kClass = 1;  // of 65 to 128 bytes
              void* block = take(100);
              const bool is_beyond = blocks_made(kClass).count == 66;
              give(block);
              const bool is_again = take(100) == block && blocks_made(kClass).count == 66;
              return is_beyond && is_again && take(std::size_t{20} << 30) != nullptr;
            }),
            0);
}

TEST(ArenaTest, ABlockIsMadeAtAnOfferedPlace) {
  EXPECT_EQ(places(), nullptr);
  EXPECT_EQ(in_child([] {
              if (!open_fresh_arena(0, nullptr, FirstBlocks::kAlike)) return false;
              void* const place = static_cast<char*>(places()) + 64;
              const std::int64_t live = arena_counters().live_bytes;
              offer_place(100, place);
              const bool is_there = take(90) == place;  // blocks of 90 and 100 bytes have one class
              const bool is_only_one = take(100) != place;
              withdraw_place(100, place);
              const bool is_counted = arena_counters().live_bytes == live + 190;
              give(place);
              const bool is_returned = arena_counters().live_bytes == live + 100;
              return is_there && is_only_one && is_counted && is_returned &&
                     malloc_usable_size(place) == 0 && take(100) != place;
            }),
            0);
}

TEST(ArenaTest, AWithdrawnPlaceIsNotUsed) {
  EXPECT_EQ(in_child([] {
              if (!open_fresh_arena(0, nullptr, FirstBlocks::kAlike)) return false;
              void* const place = static_cast<char*>(places()) + 64;
              offer_place(100, place);
              withdraw_place(100, place);
              const bool is_elsewhere = take(100) != place;
              offer_place(100, place);
              give(take(100));
              withdraw_place(100, place);
              return is_elsewhere && take(100) != place;
            }),
            0);
}

TEST(ArenaTest, AFreshArenaDoesNotDependOnEarlierBlocks) {
  auto addresses = [](int history, std::uintptr_t* out) {
    for (int i = 0; i < history; ++i) (void)take(static_cast<std::size_t>(i));
    open_fresh_arena(0, nullptr);
    for (unsigned i = 0; i < 100; ++i) out[i] = reinterpret_cast<std::uintptr_t>(take(i * 37));
  };
  auto* page = static_cast<std::uintptr_t*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  in_child([&] { return addresses(0, page), true; });
  in_child([&] { return addresses(1000, page + 100), true; });
  EXPECT_NE(page[0], 0u);
  EXPECT_TRUE(std::equal(page, page + 100, page + 100));
  munmap(page, 4096);
}

TEST(ArenaTest, TheLimitIsEnforcedAndReported) {
  EXPECT_EQ(in_child([] {
              std::uint32_t exhausted = 0;
              if (!open_fresh_arena(1 << 20, &exhausted)) return false;
              void* within = take(500'000);
              bool early = exhausted != 0;
              errno = 0;
              void* beyond = take(600'000);
              return within != nullptr && !early && beyond == nullptr && errno == ENOMEM &&
                     exhausted == 1 && take(1000) != nullptr;
            }),
            0);
}

TEST(ArenaTest, ARehearsalLeavesNoTrace) {
  EXPECT_EQ(in_child([] {
              void* held = take(100);
              ArenaCounters before = arena_counters();
              rehearse_fresh_arena();
              ArenaCounters after = arena_counters();
              give(held);
              void* again = take(100);
              return before.allocs == after.allocs && before.live_bytes == after.live_bytes &&
                     again == held && open_fresh_arena(0, nullptr);
            }),
            0);
}

TEST(ArenaDeathTest, FreeingTwiceAborts) {
  EXPECT_DEATH(
      {
        void* volatile block = take(10);
        give(block);
        give(block);
      },
      "");
}

}  // namespace
}  // namespace instr
