// The setup of worker tests: the worker, built against the LibTorch in TORCH_DIR (else the one that
// is found), a unit from tests/fixtures/worker, and zygotes under the real Callgrind.
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

// A reply to a measurement.
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
  // The metrics as in results; empty if the measurement failed.
  std::map<std::string, double> metrics() const;
  // The numbers that must be the same in each measurement.
  std::string counts() const;
};

struct Request {
  std::string snippet;
  int threads = 1;
  std::optional<int> warmup = {};
  int iterations = 0;
  int timeout_ms = 120'000;
  std::uint64_t memory_limit = std::uint64_t{2} << 30;
  Simulation simulation = {};  // with which the zygote was started
};

// A host, with the unit if `loaded`.
class TestHost {
 public:
  TestHost(std::shared_ptr<WorkerProcess> zygote, bool loaded);
  Answer measure(const Request& request);

 private:
  std::unique_ptr<WorkerProcess> host_;
};

class Rig {
 public:
  // Built once for all tests of this program; throws if that fails.
  static Rig& get();

  // The zygote that most tests share.
  std::shared_ptr<WorkerProcess> zygote(WarmUp kind = WarmUp::kEager);
  // Starts an eager zygote of a copy of the worker, with all its files in a folder with this name.
  std::shared_ptr<WorkerProcess> start(const std::string& folder,
                                       const Simulation& simulation = {});

  TestHost host(WarmUp kind = WarmUp::kEager) { return TestHost(zygote(kind), true); }
  // A host of a zygote that simulates caches and branches; its requests must have both set.
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

// Requests a measurement from `where`; profiles go to its worker's folder.
Answer ask(WorkerProcess& where, const Request& request, bool fork = true);

}  // namespace instr::worker_tests
