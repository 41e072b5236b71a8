// The functions of the C library are replaced for the whole process.
#include "worker/counted/clock.h"

#include <dlfcn.h>
#include <errno.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

namespace instr {
namespace {

constexpr uint64_t kBegin = 1'700'000'000'000'000;  // microseconds: 2023-11-14
constexpr uint64_t kSecond = 1'000'000'000;         // nanoseconds

std::atomic<bool> is_clock_pinned{false};
std::atomic<uint64_t> passed{0};  // microseconds since kBegin

std::atomic<uint64_t> readings{0};
std::atomic<uint64_t> random_state{0};
std::atomic<uint64_t> ahead{0};      // nanoseconds
std::atomic<uint64_t> step_mask{0};  // all bits if the clock is disturbed

timespec to_timespec(uint64_t us) {
  return {static_cast<time_t>(us / 1'000'000), static_cast<long>(us % 1'000'000 * 1'000)};
}

uint64_t to_us(const timespec& time) {
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000 +
         static_cast<uint64_t>(time.tv_nsec) / 1'000;
}

timespec pinned_now() { return to_timespec(kBegin + ++passed); }

// Returns by how many nanoseconds the clock is ahead at the next reading. Steps are of all sizes,
// so that code that waits for any of these, or uses any digit of the time, is affected. Without a
// branch that depends on whether the clock is disturbed.
uint64_t next_ahead() {
  const uint64_t bits = random_state * 6364136223846793005 + 1442695040888963407;
  random_state = bits;
  const uint64_t step = (bits >> 40) >> (bits >> 36 & 15);
  const uint64_t is_below = 0 - ((ahead.load() - 2 * kSecond) >> 63);
  return ahead += step & step_mask.load() & is_below;
}

timespec system_now(clockid_t clock) {
  timespec now{};
  syscall(SYS_clock_gettime, clock, &now);
  return now;
}

// As the C library's clock_gettime().
int read_clock(clockid_t clock, timespec* now) {
  ++readings;
  if (syscall(SYS_clock_gettime, clock, now) != 0) return -1;
  const uint64_t nanoseconds = static_cast<uint64_t>(now->tv_nsec) + next_ahead();
  now->tv_sec += static_cast<time_t>(nanoseconds / kSecond);
  now->tv_nsec = static_cast<long>(nanoseconds % kSecond);
  return 0;
}

// Returns the time from the pinned now until `deadline`, in microseconds.
uint64_t left_until(const timespec& deadline) {
  const uint64_t now = kBegin + passed.load();
  return to_us(deadline) > now ? to_us(deadline) - now : 0;
}

timespec now_of(clockid_t clock) {
  if (is_clock_pinned.load()) return pinned_now();
  timespec now{};
  read_clock(clock, &now);
  return now;
}

}  // namespace

void pin_clock() { is_clock_pinned = true; }

void disturb_clock() {
  ahead = kSecond;
  step_mask = ~uint64_t{0};
}

uint64_t clock_readings() { return readings.load(); }

}  // namespace instr

// Declared by the system's headers, partly as functions that never throw.
extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  if (!instr::is_clock_pinned.load()) return instr::read_clock(clock, now);
  *now = instr::pinned_now();
  return 0;
}

int gettimeofday(timeval* now, void* zone) noexcept {
  const timespec time = instr::now_of(CLOCK_REALTIME);
  if (now != nullptr) *now = {time.tv_sec, time.tv_nsec / 1'000};
  if (zone != nullptr) *static_cast<struct timezone*>(zone) = {};
  return 0;
}

time_t time(time_t* now) noexcept {
  const time_t seconds = instr::now_of(CLOCK_REALTIME).tv_sec;
  if (now != nullptr) *now = seconds;
  return seconds;
}

// Waits as long as the caller wants, and lets that time pass.
int clock_nanosleep(clockid_t clock, int flags, const timespec* until, timespec* left) {
  if (!instr::is_clock_pinned.load() || flags != TIMER_ABSTIME) {
    return syscall(SYS_clock_nanosleep, clock, flags, until, left) == 0 ? 0 : errno;
  }
  const uint64_t us = instr::left_until(*until);
  const timespec pause = instr::to_timespec(us);
  if (syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &pause, nullptr) != 0) return errno;
  instr::passed += us;
  return 0;
}

int sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* until) {
  using Wait = int (*)(sem_t*, clockid_t, const timespec*);
  static const auto wait = reinterpret_cast<Wait>(dlsym(RTLD_NEXT, "sem_clockwait"));
  if (!instr::is_clock_pinned.load()) return wait(semaphore, clock, until);
  const uint64_t us = instr::left_until(*until);
  const timespec deadline = instr::to_timespec(instr::to_us(instr::system_now(clock)) + us);
  const int result = wait(semaphore, clock, &deadline);
  if (result != 0) instr::passed += us;
  return result;
}

}  // extern "C"
