// The table of metrics.
#include "core/definitions/metrics.h"

#include <gtest/gtest.h>

#include <map>

#include "core/definitions/limit.h"
#include "core/results/simulation.h"

namespace instr::metrics_test {
namespace {

TEST(Metrics, WordsNameMetricsAndGroups) {
  std::map<std::string, std::vector<std::string>> words;
  for (const auto& [word, metrics] : metric_words()) words[word] = names_of(metrics);
  EXPECT_EQ(words.size(), kMetrics.size() + 3);
  EXPECT_EQ(words.at("instructions"), std::vector<std::string>{"instructions"});
  EXPECT_EQ(words.at("branch"), (std::vector<std::string>{"branches", "mispredictions"}));
  EXPECT_EQ(words.at("cache"), names_of(kCacheMetrics));
  EXPECT_EQ(default_metrics(), (std::vector<std::string>{"instructions", "allocs", "alloc_bytes",
                                                         kCompileInstructions}));
}

// --- Simulated metrics ---

using Words = std::vector<std::string>;

TEST(Simulation, IsChosenByTheMetrics) {
  EXPECT_FALSE(simulation_for({}).any());
  EXPECT_FALSE(simulation_for({"instructions", "allocs"}).any());
  EXPECT_EQ(simulation_for({"instructions", "estimated_cycles"}), (Simulation{true, false}));
  EXPECT_EQ(simulation_for({"mispredictions"}), (Simulation{false, true}));
  EXPECT_EQ(simulation_for({"branches", "ll_hits"}), (Simulation{true, true}));
}

TEST(Simulation, RequestsOnlyWhatIsNeeded) {
  EXPECT_TRUE(valgrind_options({}).empty());
  EXPECT_EQ(valgrind_options({false, true}), Words{"--branch-sim=yes"});
  EXPECT_EQ(valgrind_options({true, false}),
            (Words{"--cache-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64", "--LL=8388608,16,64"}));
}

TEST(Simulation, AddsTheMetricsOfTheEvents) {
  std::map<std::string, double> metrics{{"instructions", 7}};
  add_simulated(metrics, {});
  add_simulated(metrics, {{"Ir", 7}});
  EXPECT_EQ(metrics.size(), 1u);
  add_simulated(metrics, {{"Ir", 7}, {"Bc", 3}, {"Bcm", 1}, {"Bi", 2}, {"Bim", 2}});
  EXPECT_EQ(metrics, (std::map<std::string, double>{
                         {"instructions", 7}, {"branches", 5}, {"mispredictions", 3}}));
}

}  // namespace
}  // namespace instr::metrics_test
