// What runs have of warm workers (core/measure/warm_address.h).
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "core/measure/zygote_pool.h"

namespace instr {

// Zygotes of warm workers; one that is not there, or of which a file has changed, is started. Where
// that is impossible, those of a root of our own; `note` is then called with the reason.
StartSource warm_workers(WorkerOptions options, FindWorker find_worker,
                         std::function<void(const std::string& what)> note);

struct WarmStatus {
  pid_t pid = 0;
  bool is_used = false;
  std::chrono::seconds idle{0};
  std::string libtorch_version;  // empty: it has not started yet
  Language language = Language::kCpp;
};

// Of this user's that answer.
std::vector<WarmStatus> warm_status();

// Ends them: how many there were.
int stop_warm_workers();

}  // namespace instr
