// Counters of the processor and the kernel (perf_event_open) for a process's user mode, in all
// threads that it starts later. Shared by worker and coordinator, depends only on the standard
// library and the kernel's headers.
#pragma once

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace instr {

struct CountedEvent {
  const char* metric;
  std::uint32_t type;
  std::uint64_t config;
};

inline constexpr CountedEvent kCountedEvents[] = {
    {"hw_instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"hw_cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"hw_branch_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    {"hw_cache_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {"page_faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS}};

// Null if no event has that name.
inline const CountedEvent* find_event(std::string_view metric) {
  for (const CountedEvent& event : kCountedEvents) {
    if (metric == event.metric) return &event;
  }
  return nullptr;
}

class EventCounter {
 public:
  explicit EventCounter(const CountedEvent& event) : event_(&event) {
    perf_event_attr what{};
    what.size = sizeof what;
    what.type = event.type;
    what.config = event.config;
    what.exclude_kernel = 1;
    what.exclude_hv = 1;
    what.inherit = 1;
    what.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    fd_ = static_cast<int>(syscall(SYS_perf_event_open, &what, 0, -1, -1,
                                   static_cast<unsigned long>(PERF_FLAG_FD_CLOEXEC)));
    if (fd_ < 0) error_ = errno;
  }
  ~EventCounter() {
    if (fd_ >= 0) close(fd_);
  }
  EventCounter(EventCounter&& other) noexcept
      : event_(other.event_), fd_(other.fd_), error_(other.error_) {
    other.fd_ = -1;
  }
  EventCounter& operator=(EventCounter&&) = delete;

  const char* metric() const { return event_->metric; }

  // The count since the counter was opened. Nothing if it cannot count, or did not count all the
  // time: several users share the processor's few counters.
  std::optional<std::uint64_t> value() const {
    struct {
      std::uint64_t value, enabled, running;
    } now{};
    if (fd_ < 0 || read(fd_, &now, sizeof now) != static_cast<ssize_t>(sizeof now)) return {};
    if (now.running < now.enabled) return {};
    return now.value;
  }

  // The reason why it cannot count.
  struct Problem {
    std::string what;
    std::string advice;
  };
  std::optional<Problem> problem() const {
    if (error_ == 0) return {};
    if (error_ == EACCES || error_ == EPERM) {
      return Problem{
          "the kernel does not allow it",
          "set the sysctl kernel.perf_event_paranoid to 2 or less, or give the container the "
          "capability CAP_PERFMON"};
    }
    if (error_ == ENOENT || error_ == ENODEV || error_ == EOPNOTSUPP) {
      return Problem{"this machine has no such counter, like most virtual machines",
                     "run on the hardware itself, or on a virtual machine with a virtual PMU"};
    }
    return Problem{strerror(error_), ""};
  }

 private:
  const CountedEvent* event_;
  int fd_ = -1;
  int error_ = 0;
};

}  // namespace instr
