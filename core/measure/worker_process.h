// Worker processes: the root, which is started and forks zygotes, which fork hosts, which load
// units and measure variants.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "core/base/error.h"
#include "core/measure/worker_command.h"
#include "core/measure/worker_link.h"

namespace instr {

// Returns the request to load a unit that is kept in the cache beside the worker; empty: the
// worker's own snippets.
wire::Message load_request(const std::filesystem::path& worker, const std::filesystem::path& unit);

// A process of a worker: its root, or one forked by another: a zygote, which has warmed up and
// forks hosts, or a host, which holds one unit and forks a child for each measurement. Calls from
// several threads take turns.
class WorkerProcess {
 public:
  // Hangs up, whereupon it ends its child and itself; one that had stopped answering is killed.
  virtual ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  // Forks another process in the state of `parent`, which it keeps, since it would end with it.
  static tl::expected<std::unique_ptr<WorkerProcess>, Loss> fork(
      std::shared_ptr<WorkerProcess> parent);

  // Forks one for the holder of the other end of `socket`; returns its process number.
  tl::expected<pid_t, Loss> fork_onto(int socket);

  // A process of another program's worker.
  struct Loan {
    pid_t pid;
    std::filesystem::path log, worker;  // returned by log() and worker()
    Link lender;                        // the connection on which it was lent
  };
  static std::shared_ptr<WorkerProcess> borrow(Link link, Loan loan);

  // Waits until the process and its descendants have used `limit` of CPU time, or been idle for as
  // long.
  Reply request(const wire::Message& message, std::chrono::milliseconds limit);

  // The standard error of the process and of those that it forked: the size so far, and the end of
  // the text since then, with Valgrind's messages.
  std::uintmax_t log_size() const;
  std::string log_since(std::uintmax_t begin) const;

  // The folder that it writes profiles to.
  std::filesystem::path work_dir() const;

  // Requests work of the worker itself, which takes as long as the machine needs for it.
  Reply prepare(const wire::Message& message);

  // The program that it runs, and the file with its standard error.
  const std::filesystem::path& worker() const;
  const std::filesystem::path& log() const;
  pid_t pid() const { return pid_; }

  // Returns false once a request got no reply.
  bool answers() const;

  // From any thread. hang_up(): it cleans up after its child and ends, and a waiting request with
  // it; abort(): a waiting request ends immediately.
  void hang_up() { link_.hang_up(); }
  void abort() { link_.abort(); }

 protected:
  struct Started;  // the root's, shared by all that it forked

  WorkerProcess(std::shared_ptr<Started> started, Link link, pid_t pid,
                std::shared_ptr<WorkerProcess> parent = nullptr);

  // Waits as long as the process works: until it is idle for its options' idle_limit.
  Link::Patience while_it_works() const;

  const std::shared_ptr<Started> started_;
  Link link_;
  mutable std::mutex turn_;

 private:
  Reply ask(const wire::Message& message, const Link::Patience& patience, int passed = -1);

  const std::shared_ptr<WorkerProcess> parent_;  // null: it is the root
  const pid_t pid_;
  std::optional<Loss> loss_;
};

// The process that is started, and with LibTorch: under Callgrind, unless it is native. When it is
// no longer in use, what is left of its process group is killed.
class Root : public WorkerProcess {
 public:
  // Starts it, without waiting for its `hello`.
  static Expected<std::shared_ptr<Root>> start(const WorkerOptions& options);

  // Waits for it to be ready, once: its description of itself, and the libraries that it has loaded
  // (core/measure/loaded_libraries.h). An Error has its last output.
  Expected<wire::Message> await_hello();

  // From any thread: ends it and all processes that it forked.
  void kill();

  // Returns its wait status once it has ended; nothing if it has used `limit` of CPU time, or been
  // idle for as long.
  std::optional<int> await_end(std::chrono::milliseconds limit);

 private:
  using WorkerProcess::WorkerProcess;
};

}  // namespace instr
