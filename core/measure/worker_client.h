// The coordinator's side of the wire protocol (worker/wire.h): starts zygotes under Callgrind, has
// them fork hosts, and has those load units and measure variants.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "core/base/process.h"
#include "core/definitions/runtimes.h"
#include "core/values/simulation.h"
#include "worker/wire.h"

namespace instr {

// Why a request got no reply.
enum class Loss { kClosed, kTimedOut, kGarbled };

const char* to_string(Loss loss);

using Reply = tl::expected<wire::Message, Loss>;

// One end of a socket to a worker: a request, then its reply.
class Link {
 public:
  // Two connected ends: ours, and the one for the worker.
  static Expected<std::pair<Link, Fd>> make();

  // Sends, with the descriptor `passed` as ancillary data if it is not negative, and waits for
  // the reply, which must have the request's token. After a Loss the link is unusable.
  Reply request(const wire::Message& message, std::chrono::milliseconds timeout, int passed = -1);

  // Waits for an unsolicited message: `hello`.
  Reply receive(std::chrono::milliseconds timeout);

  // From any thread. hang_up(): the other side sees the end of the stream, and its reply still
  // arrives. abort(): a waiting call ends with Loss::kClosed immediately.
  void hang_up();
  void abort();

 private:
  explicit Link(Fd socket) : socket_(std::move(socket)) {}
  bool send_all(std::string_view text, int passed);

  Fd socket_;
  std::string received_;  // after the end of the last message
};

struct ZygoteOptions {
  std::filesystem::path worker;
  std::filesystem::path valgrind = {};
  WarmUp kind = WarmUp::kEager;
  std::filesystem::path work_dir;  // for profiles and logs
  int churn = 0;                   // blocks to allocate first, half of them permanently
  Simulation simulation = {};
  // The native worker: without Valgrind, and in the caller's own environment.
  bool is_native = false;
  std::vector<int> cores = {};  // SpawnOptions::cores
};

// Anything that answers requests.
class Requestable {
 public:
  virtual ~Requestable() = default;
  virtual Reply request(const wire::Message& message, std::chrono::milliseconds timeout) = 0;

  // The standard error of it and its hosts: the size so far, and the end of the text since then,
  // with Valgrind's messages in the meantime.
  virtual std::uintmax_t log_size() const = 0;
  virtual std::string log_since(std::uintmax_t begin) const = 0;
};

// A request's timeout; the longest sum of timeouts is thirty years.
std::chrono::milliseconds timeout_of(double seconds);

// The request to load a unit that is kept in the cache beside the worker; empty: the worker's own
// snippets.
wire::Message load_request(const std::filesystem::path& worker, const std::filesystem::path& unit);

// A worker under Callgrind that forks hosts on request. Calls from several threads take turns.
class Zygote : public Requestable {
 public:
  // Starts it, without waiting for its `hello`.
  static Expected<std::shared_ptr<Zygote>> start(const ZygoteOptions& options);

  // Kills it and its whole process group.
  ~Zygote() override;

  const std::filesystem::path& worker() const { return worker_; }

  // Waits for it to be ready, once: its description of itself, and the libraries that it has loaded
  // (core/measure/loaded_libraries.h). An Error has its last output.
  Expected<wire::Message> await_hello(std::chrono::milliseconds timeout);

  // Runs a request in the zygote itself (--isolation=process).
  Reply request(const wire::Message& message, std::chrono::milliseconds timeout) override;

  // A new host's link and process id.
  tl::expected<std::pair<Link, pid_t>, Loss> fork_host(std::chrono::milliseconds timeout);

  // From any thread: ends it and what it forked.
  void kill();

  // Its wait status once it has ended.
  std::optional<int> await_end(std::chrono::milliseconds timeout);

  std::uintmax_t log_size() const override;
  std::string log_since(std::uintmax_t begin) const override;
  // The same with Valgrind's messages about the process `pid`: each host has a log of its own.
  std::string log_since(std::uintmax_t begin, pid_t pid) const;

 private:
  Zygote(Link link, Process process, std::filesystem::path log, const ZygoteOptions& options);
  std::string written_since(std::uintmax_t begin) const;

  std::mutex turn_;
  Link link_;
  Process process_;
  std::filesystem::path log_;
  std::filesystem::path worker_;
  bool is_native_;
};

// A process forked by a zygote: holds one unit, and forks a child for each measurement.
class Host : public Requestable {
 public:
  static tl::expected<std::unique_ptr<Host>, Loss> fork(std::shared_ptr<Zygote> zygote);

  // Hangs up, whereupon it ends its child and itself; one that had stopped answering is killed.
  ~Host() override;
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  Reply request(const wire::Message& message, std::chrono::milliseconds timeout) override;
  std::uintmax_t log_size() const override { return zygote_->log_size(); }
  std::string log_since(std::uintmax_t begin) const override;

  // False once a request got no reply.
  bool answers() const { return !loss_; }

  // From any thread. hang_up(): it cleans up after its child and ends, and a waiting request with
  // it; abort(): a waiting request ends immediately.
  void hang_up() { link_.hang_up(); }
  void abort() { link_.abort(); }

 private:
  Host(std::shared_ptr<Zygote> zygote, Link link, pid_t pid);

  std::shared_ptr<Zygote> zygote_;
  Link link_;
  pid_t pid_;
  std::optional<Loss> loss_;
};

}  // namespace instr
