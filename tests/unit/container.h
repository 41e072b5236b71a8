// Runs code as the first process of a container.
#pragma once

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "core/base/process.h"
#include "core/compile/cache.h"

namespace instr::testing {

constexpr int kNoContainers = 77;  // the exit status where they are not allowed

// Runs `body` as process 1 of a new namespace, as in a container.
template <class Body>
pid_t start_container(Body body) {
  pid_t outer = ::fork();
  if (outer != 0) return outer;
  std::string uids = "0 " + std::to_string(::geteuid()) + " 1";
  if (::unshare(CLONE_NEWPID) != 0) {
    bool can =
        ::unshare(CLONE_NEWUSER | CLONE_NEWPID) == 0 && write_text("/proc/self/uid_map", uids);
    if (!can) ::_exit(kNoContainers);
  }
  pid_t inner = ::fork();
  if (inner == 0) ::_exit(::getpid() == 1 ? body() : 78);
  int status = 0;
  ::waitpid(inner, &status, 0);
  ::_exit(WEXITSTATUS(status));
}

inline int exit_status_of(pid_t child) {
  int status = 0;
  return ::waitpid(child, &status, 0) == child ? to_exit_code(status) : -1;
}

}  // namespace instr::testing
