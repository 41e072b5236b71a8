// The metrics of simulated caches and branches, which do not depend on earlier code, for snippets
// whose accesses can be counted by hand.

#include "core/definitions/metrics.h"
#include "rig.h"

namespace instr::worker_tests::simulation_test {
namespace {

class WorkerSimulation : public ::testing::Test {
 protected:
  std::map<std::string, double> measure(const char* snippet) {
    Request request{snippet};
    request.simulation = {true, true};
    Answer answer = host_.measure(request);
    EXPECT_TRUE(answer.measured()) << answer.text();
    EXPECT_EQ(answer.number("steady"), 1u) << snippet;
    return answer.metrics();
  }

  TestHost host_ = Rig::get().simulating_host();
};

TEST_F(WorkerSimulation, ReportsAllMetricsOnlyOnRequest) {
  auto metrics = measure("spin_10");
  constexpr auto kCounted = metrics_of(MetricGroup::kCounted);
  for (auto names : {kCounted, kCacheMetrics, kBranchMetrics}) {
    for (const Metric& metric : names) EXPECT_TRUE(metrics.contains(metric.name)) << metric.name;
  }
  EXPECT_EQ(metrics.size(), kCounted.size() + kCacheMetrics.size() + kBranchMetrics.size());
  auto plain = Rig::get().host().measure({"spin_10"}).metrics();
  EXPECT_EQ(plain.size(), kCounted.size());
}

// The first level has 32 KiB, 512 lines. Less data stays in it. More data, accessed cyclically,
// does not: the next line has always just been evicted.
TEST_F(WorkerSimulation, SmallDataStaysInTheFirstLevel) {
  auto metrics = measure("reads_16_kib");
  EXPECT_EQ(metrics["data_reads"], 256);
  EXPECT_EQ(metrics["data_writes"], 0);
  EXPECT_EQ(metrics["d1_misses"], 0);
  EXPECT_EQ(metrics["i1_misses"], 0);
  EXPECT_EQ(metrics["l1_hits"], metrics["instructions"] + 256);
  EXPECT_EQ(metrics["estimated_cycles"], metrics["l1_hits"]);
}

// The loop's access to its own counter is subtracted, but not its miss: that line is evicted with
// the others.
constexpr int kCounter = 1;

TEST_F(WorkerSimulation, LargerDataComesFromTheLastLevel) {
  for (const char* snippet : {"reads_64_kib", "writes_64_kib"}) {
    auto metrics = measure(snippet);
    EXPECT_EQ(metrics["data_reads"] + metrics["data_writes"], 1024) << snippet;
    EXPECT_EQ(metrics["d1_misses"], 1024 + kCounter) << snippet;
    EXPECT_EQ(metrics["ll_hits"], 1024 + kCounter) << snippet;
    EXPECT_EQ(metrics["ram_hits"], 0) << snippet;
    EXPECT_EQ(metrics["l1_hits"], metrics["instructions"] - kCounter) << snippet;
    EXPECT_EQ(metrics["estimated_cycles"], metrics["l1_hits"] + 5 * (1024 + kCounter)) << snippet;
  }
}

TEST_F(WorkerSimulation, EvenLargerDataComesFromMemory) {
  auto metrics = measure("reads_16_mib");
  EXPECT_EQ(metrics["ram_hits"], 262144 + kCounter);
  EXPECT_EQ(metrics["ll_hits"], 0);
  EXPECT_EQ(metrics["estimated_cycles"], metrics["l1_hits"] + 35 * (262144 + kCounter));
}

TEST_F(WorkerSimulation, CodeHasItsOwnCache) {
  auto metrics = measure("runs_64_kib");
  EXPECT_GE(metrics["i1_misses"], 1024);
  EXPECT_LE(metrics["i1_misses"], 1024 + 2);  // before and after them
  EXPECT_EQ(metrics["d1_misses"], 0);
}

TEST_F(WorkerSimulation, BranchesAreCountedAndPredicted) {
  // The exit of a long loop is mispredicted, the exit of a short one is in the history.
  auto metrics = measure("spin_1000");
  EXPECT_EQ(metrics["branches"], 1000);
  EXPECT_EQ(metrics["mispredictions"], 1);
  metrics = measure("spin_5");
  EXPECT_EQ(metrics["branches"], 5);
  EXPECT_EQ(metrics["mispredictions"], 0);
}

TEST_F(WorkerSimulation, IndirectJumpsArePredictedByTheirLastTarget) {
  auto metrics = measure("jumps_to_one");
  EXPECT_EQ(metrics["branches"], 1);
  EXPECT_EQ(metrics["mispredictions"], 0);
  metrics = measure("jumps_to_two");
  EXPECT_EQ(metrics["branches"], 1);
  EXPECT_EQ(metrics["mispredictions"], 1);
}

const char* const kSensitive[] = {"adds", "multiplies", "differentiates", "sorts", "allocates_3"};

TEST_F(WorkerSimulation, DoesNotChangeOtherCounts) {
  TestHost plain = Rig::get().host();
  for (const char* snippet : kSensitive) {
    auto expected = plain.measure({snippet}).metrics();
    auto metrics = measure(snippet);
    for (const Metric& metric : kUsualMetrics) {
      EXPECT_EQ(metrics[metric.name], expected[metric.name]) << snippet;
    }
  }
}

TEST_F(WorkerSimulation, DoesNotDependOnTheWorkersPath) {
  std::map<std::string, std::map<std::string, double>> first;
  for (const char* snippet : kSensitive) first[snippet] = measure(snippet);
  for (std::size_t length : {60, 200}) {
    host_ = TestHost(Rig::get().start(std::string(length, 'x'), {true, true}), true);
    for (const char* snippet : kSensitive) EXPECT_EQ(measure(snippet), first[snippet]) << snippet;
  }
}

TEST_F(WorkerSimulation, DoesNotDependOnEarlierMeasurements) {
  std::map<std::string, std::map<std::string, double>> first;
  for (const char* snippet : kSensitive) first[snippet] = measure(snippet);
  host_ = Rig::get().simulating_host();
  for (const char* other : {"reads_16_mib", "runs_64_kib", "throws_torch", "faults"}) {
    Request request{other};
    request.simulation = {true, true};
    host_.measure(request);
  }
  for (auto each = std::rbegin(kSensitive); each != std::rend(kSensitive); ++each) {
    EXPECT_EQ(measure(*each), first[*each]) << *each;
  }
}

}  // namespace
}  // namespace instr::worker_tests::simulation_test
