// A warm worker is a process of this program that keeps a worker and its zygotes between runs,
// since starting LibTorch takes most of a short run's time. It lends each run zygotes forked from
// its own, and ends after some idle time. Runs find it by a socket whose abstract name is a hash of
// its purpose, so that no file is left when it ends.
//
// Requests:
//   hello         waits for the worker -> hello (as the worker's own) | stale file | failed message
//   zygote  kind  + a socket as ancillary data: forks one that serves on it
//                 -> forked pid log | failed message
//   status        -> status pid is_used idle_s language libtorch_version (empty: not started yet)
//   stop          -> stopping: it ends, with the processes that it has lent
// A lent process ends with its socket. A connection on which hello or zygote was requested counts
// as a use until it ends.
#pragma once

#include <sys/un.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/process.h"
#include "core/definitions/backends.h"
#include "core/measure/worker_process.h"
#include "core/measure/zygote_pool.h"

namespace instr {

// The purpose of a warm worker: what it measures, and how.
struct WarmPurpose {
  Language language = Language::kCpp;
  WorkerOptions options = {};
};

// Returns it as one word: the worker, how Valgrind runs it, and on which cores.
std::string encode(const WarmPurpose& purpose);
Expected<WarmPurpose> parse_purpose(const std::string& word);

// Returns the name of its socket: a hash of the word, the user, this program, and the namespaces
// that it runs in.
std::string warm_address(const std::string& word);

// Returns the names of all warm workers of this user here, for any purpose.
std::vector<std::string> warm_addresses();

// Returns a socket that listens there; an error if another does.
Expected<Fd> listen_at(const std::string& address);

// Returns a connection to the warm worker there; nothing if there is none of this user.
std::optional<Link> connect_to(const std::string& address);

// The number that the socket has in the process of a warm worker.
inline constexpr int kWarmListeningFd = 3;

// The side of a run that uses warm workers (core/measure/warm.h).

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

// The side of the warm worker (core/measure/warm.h).

inline constexpr std::chrono::minutes kWarmIdleTime{10};

// Serves on this socket until no run has used it for `idle_time`, a file that it has loaded has
// changed, or it gets a request to stop.
Expected<void> serve_warm(Fd listening, const std::string& word,
                          std::chrono::milliseconds idle_time = kWarmIdleTime);

}  // namespace instr
