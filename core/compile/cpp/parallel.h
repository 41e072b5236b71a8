// Work on several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "core/base/error.h"

namespace instr {

// Calls `work` with 0, 1, ..., `count` - 1 on up to `jobs` threads. Returns the first error, after
// which no further calls begin.
template <class Work>
Expected<void> run_parallel(std::size_t count, int jobs, const Work& work) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  Expected<void> outcome;
  const auto run = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      auto done = work(i);
      if (done) continue;
      std::lock_guard guard(mutex);
      if (outcome) outcome = std::move(done);
      next = count;
    }
  };
  {
    std::vector<std::jthread> threads;
    const std::size_t threads_wanted = std::min(count, static_cast<std::size_t>(std::max(jobs, 1)));
    for (std::size_t i = 1; i < threads_wanted; ++i) threads.emplace_back(run);
    run();
  }
  return outcome;
}

}  // namespace instr
