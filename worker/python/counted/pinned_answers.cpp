// The functions of the C library are replaced for the whole process, since the worker is preloaded.
// They ask the system until pin_answers() is called.
#include <dlfcn.h>
#include <errno.h>
#include <semaphore.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "worker/python/counted/pins.h"

namespace instr {
namespace {

constexpr uint64_t kBegin = 1'700'000'000'000'000;  // microseconds: 2023-11-14
constexpr pid_t kProcessId = 1'000'000;

std::atomic<Pinned> pinned{Pinned::kNothing};
std::atomic<uint64_t> passed{0};  // microseconds since kBegin
std::atomic<uint64_t> random_state{0};

bool is_pinned(Pinned which) { return pinned.load() >= which; }

timespec to_timespec(uint64_t us) {
  return {static_cast<time_t>(us / 1'000'000), static_cast<long>(us % 1'000'000 * 1'000)};
}

uint64_t to_us(const timespec& time) {
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000 +
         static_cast<uint64_t>(time.tv_nsec) / 1'000;
}

timespec pinned_now() { return to_timespec(kBegin + ++passed); }

timespec system_now(clockid_t clock) {
  timespec now{};
  syscall(SYS_clock_gettime, clock, &now);
  return now;
}

// Returns the time from the pinned now until `deadline`, in microseconds.
uint64_t left_until(const timespec& deadline) {
  const uint64_t now = kBegin + passed.load();
  return to_us(deadline) > now ? to_us(deadline) - now : 0;
}

uint64_t next_random() {  // splitmix64
  uint64_t bits = random_state += 0x9E3779B97F4A7C15;
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB;
  return bits ^ (bits >> 31);
}

}  // namespace

void pin_answers(Pinned which) { pinned = which; }

}  // namespace instr

// Declared by the system's headers, partly as functions that never throw.
extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  if (!instr::is_pinned(instr::Pinned::kClock))
    return static_cast<int>(syscall(SYS_clock_gettime, clock, now));
  *now = instr::pinned_now();
  return 0;
}

int gettimeofday(timeval* now, void* zone) noexcept {
  if (!instr::is_pinned(instr::Pinned::kClock))
    return static_cast<int>(syscall(SYS_gettimeofday, now, zone));
  const timespec time = instr::pinned_now();
  *now = {time.tv_sec, time.tv_nsec / 1'000};
  return 0;
}

time_t time(time_t* now) noexcept {
  if (!instr::is_pinned(instr::Pinned::kClock)) return syscall(SYS_time, now);
  const time_t seconds = instr::pinned_now().tv_sec;
  if (now != nullptr) *now = seconds;
  return seconds;
}

// Waits as long as the caller wants, and lets that time pass.
int clock_nanosleep(clockid_t clock, int flags, const timespec* until, timespec* left) {
  if (!instr::is_pinned(instr::Pinned::kClock) || flags != TIMER_ABSTIME) {
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
  if (!instr::is_pinned(instr::Pinned::kClock)) return wait(semaphore, clock, until);
  const uint64_t us = instr::left_until(*until);
  const timespec deadline = instr::to_timespec(instr::to_us(instr::system_now(clock)) + us);
  const int result = wait(semaphore, clock, &deadline);
  if (result != 0) instr::passed += us;
  return result;
}

ssize_t getrandom(void* to, size_t size, unsigned flags) {
  if (!instr::is_pinned(instr::Pinned::kRandom)) return syscall(SYS_getrandom, to, size, flags);
  for (size_t i = 0; i < size; ++i) {
    static_cast<uint8_t*>(to)[i] = static_cast<uint8_t>(instr::next_random());
  }
  return static_cast<ssize_t>(size);
}

pid_t getpid() noexcept {
  if (!instr::is_pinned(instr::Pinned::kProcessId)) return static_cast<pid_t>(syscall(SYS_getpid));
  return instr::kProcessId;
}

}  // extern "C"
