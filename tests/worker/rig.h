// The setup of worker tests: the worker, built against the LibTorch in TORCH_DIR (else the one
// found), a unit from tests/fixtures/worker, and zygotes under the real Callgrind.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/definitions/backends.h"
#include "core/measure/worker_process.h"
#include "tests/testing.h"

namespace instr::worker_tests {

// A reply with its numbers at hand.
struct Answer {
  wire::Message message;

  bool measured() const { return message.verb == "measured"; }
  std::string kind() const { return message.get("kind"); }
  std::string text() const { return message.get("message"); }
  std::string output() const { return message.get("output"); }
  std::uint64_t number(const std::string& name) const;
  // Instructions per iteration, without the cost of entering a block.
  double ir() const;
  double for_each(const std::string& total) const;
  // Those in the results; empty: it failed.
  std::map<std::string, double> metrics() const;
  // Everything that must be the same in each measurement.
  std::string counts() const;
};

struct Request {
  std::string snippet;
  int threads = 1;
  std::optional<int> warmup = {};
  int iterations = 0;
  int timeout_ms = 120'000;
  std::uint64_t memory_limit = std::uint64_t{2} << 30;
  Simulation simulation = {};  // as the zygote was started with
};

// A host with the unit loaded.
class TestHost {
 public:
  TestHost(std::shared_ptr<WorkerProcess> zygote, bool loaded);
  Answer measure(const Request& request);

 private:
  std::unique_ptr<WorkerProcess> host_;
};

class Rig {
 public:
  // Built once for all tests of this program; throws if it cannot be.
  static Rig& get();

  // The zygote that most tests share.
  std::shared_ptr<WorkerProcess> zygote(WarmUp kind = WarmUp::kEager);
  // An eager one of its own: of a copy of the worker, with all its files in a folder with this
  // name.
  std::shared_ptr<WorkerProcess> start(const std::string& folder,
                                       const Simulation& simulation = {});

  TestHost host(WarmUp kind = WarmUp::kEager) { return TestHost(zygote(kind), true); }
  // For a zygote that simulates caches and branches; requests say so, too.
  TestHost simulating_host();
  TestHost empty_host() { return TestHost(zygote(), false); }

  const std::filesystem::path& unit() const { return unit_; }
  const std::filesystem::path& work_dir() const { return folder_.path(); }
  const wire::Message& hello() const { return hello_; }  // of the root started last

  ~Rig();

 private:
  Rig();
  std::shared_ptr<Root> start_root(const std::string& folder, const Simulation& simulation);

  testing::TemporaryFolder folder_;
  std::filesystem::path worker_;
  std::filesystem::path unit_;
  wire::Message hello_;
  std::shared_ptr<Root> root_;
  std::map<std::string, std::shared_ptr<WorkerProcess>> zygotes_;
};

// Asks `where` for a measurement; profiles go to its worker's folder.
Answer ask(Requestable& where, const Request& request, bool fork = true);

}  // namespace instr::worker_tests
