#include "core/compile/cpp/parallel.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

namespace instr {

Expected<void> run_parallel(std::size_t count, int jobs,
                            const std::function<Expected<void>(std::size_t)>& work) {
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
