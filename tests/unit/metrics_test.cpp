// The table of metrics.
#include "core/definitions/metrics.h"

#include <gtest/gtest.h>

#include <map>

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

}  // namespace
}  // namespace instr::metrics_test
