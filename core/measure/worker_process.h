// The command that starts a worker, under Callgrind or natively.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/process.h"
#include "core/compile/compiled_variant.h"
#include "core/results/simulation.h"
#include "worker/cpu_watch.h"
#include "worker/wire.h"

namespace instr {

struct WorkerOptions {
  WorkerProgram program = {};
  std::filesystem::path valgrind = {};        // empty: a native worker, which runs without it
  std::filesystem::path valgrind_tools = {};  // a moved Valgrind's (Valgrind::tools), or empty
  std::filesystem::path work_dir = {};        // the folder for profiles and logs
  Simulation simulation = {};
  // Profiles have a cost for each path of calls. So that only the paths of the counted code exist,
  // instrumentation starts with it.
  bool call_paths = false;
  int churn = 0;  // blocks for each zygote to allocate first, half of them permanently
  // A process that prepares itself is given up after being idle for this time, however long it
  // works: an emulated machine needs half an hour to start LibTorch.
  std::chrono::milliseconds idle_limit = std::chrono::minutes(5);

  bool is_native() const { return valgrind.empty(); }
};

// Has a process that will run Valgrind find the tools of one that was moved, in the folder `tools`;
// empty: nothing. The descriptor is to be kept until it is spawned.
Expected<Fd> pass_tools(const std::filesystem::path& tools, SpawnOptions& spawn);

// The connection to a worker: messages of worker/wire.h on a socket.

// Why a request got no reply.
enum class Loss { kClosed, kTimedOut, kIdle, kGarbled };

const char* to_string(Loss loss);

// Returns the text about a process that was still running after `limit`; empty if it had ended.
std::string late_text(Loss loss, std::chrono::milliseconds limit);
// Returns the message about a unit that ended the worker each time it was loaded. `log`: the
// worker's output.
std::string load_crash_text(Loss loss, const std::string& log);

// Returns a request's timeout; the longest sum of timeouts is thirty years.
std::chrono::milliseconds timeout_of(double seconds);

// Returns how long to wait for a host that enforces this timeout itself, and loads units: it is
// given up only if it fails to.
std::chrono::milliseconds with_margin(std::chrono::milliseconds timeout);

using Reply = tl::expected<wire::Message, Loss>;

// An end of a socket to a worker: a request, then its reply.
class Link {
 public:
  explicit Link(Fd socket) : socket_(std::move(socket)) {}

  // Returns two connected ends: ours, and the worker's.
  static Expected<std::pair<Link, Fd>> make();

  // How often to decide whether to go on waiting, and how; by default a call waits for one
  // interval.
  struct Patience {
    std::chrono::milliseconds interval;
    std::function<CpuVerdict()> look = [] { return CpuVerdict::kUsedUp; };
  };
  static Patience forever() {
    return {std::chrono::hours(1), [] { return CpuVerdict::kGoesOn; }};
  }

  // Sends, with the descriptor `passed` as ancillary data if it is not negative, and waits for the
  // reply, which must have the request's token. After a Loss the link is unusable.
  Reply request(const wire::Message& message, const Patience& patience, int passed = -1);

  // Waits for an unsolicited message: `hello`, or a request. A descriptor that came with it is
  // kept for take_descriptor().
  Reply receive(const Patience& patience);
  Fd take_descriptor() { return std::move(descriptor_); }

  // Returns false if the other side has closed the connection.
  bool send(const wire::Message& message, int passed = -1);

  // From any thread. hang_up(): the other side sees the end of the stream, and its reply still
  // arrives. abort(): a waiting call ends with Loss::kClosed immediately.
  void hang_up();
  void abort();

 private:
  ssize_t receive_some(char* buffer, std::size_t size);

  Fd socket_;
  Fd descriptor_;
  std::string received_;  // bytes after the end of the last message
};

// Worker processes: the root, which is started and forks zygotes, which fork hosts, which load
// units and measure variants.

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
  // (core/measure/loaded_files.h). An Error has its last output.
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
