// The side of a run that uses warm workers (core/measure/warm_address.h).
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "core/measure/zygote_pool.h"

namespace instr {

// Returns a source of zygotes of warm workers; one that is missing, or of which a file has changed,
// is started. If that fails, zygotes are forked from a root of our own, and `tell` gets the reason.
StartSource warm_workers(WorkerOptions options, FindWorker find_worker,
                         std::function<void(const std::string& what)> tell);

struct WarmStatus {
  pid_t pid = 0;
  bool is_used = false;
  std::chrono::seconds idle{0};
  std::string libtorch_version;  // empty: LibTorch has not started yet
  Language language = Language::kCpp;
};

// Lists this user's warm workers that reply.
std::vector<WarmStatus> warm_status();

// Stops them and returns how many there were.
int stop_warm_workers();

}  // namespace instr
