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

#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/process.h"
#include "core/definitions/languages.h"
#include "core/measure/worker_command.h"
#include "core/measure/worker_link.h"

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

// Returns the user on the other side of a connection.
std::optional<uid_t> peer_user(int connection);

}  // namespace instr
