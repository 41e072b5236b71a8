// The table of metrics, and what is derived from it.
#include "core/definitions/metrics.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/report/report.h"
#include "worker/event_counter.h"

namespace instr::metrics_test {
namespace {

TEST(Metrics, AreDistinctInEveryNaming) {
  std::set<std::string> names;
  std::set<std::string> headings;
  std::set<std::string> titles;
  for (const Metric& metric : kMetrics) {
    names.insert(public_name(metric.name));
    headings.insert(metric.heading);
    titles.insert(metric.title);
    EXPECT_EQ(find_metric(metric.name), &metric);
    EXPECT_TRUE(parse_limit(metric.example_limit)) << metric.name;
  }
  EXPECT_EQ(names.size(), kMetrics.size());
  EXPECT_EQ(headings.size(), kMetrics.size());
  EXPECT_EQ(titles.size(), kMetrics.size());
  EXPECT_EQ(find_metric("time"), nullptr);
  EXPECT_EQ(public_name("ir"), "instructions");
  EXPECT_EQ(public_name("time"), "time");
}

TEST(Metrics, EachOfAnEventIsCountedByTheWorker) {
  EXPECT_EQ(std::size(kCountedEvents), kEventMetrics.size());
  for (const Metric& metric : kEventMetrics) EXPECT_NE(find_event(metric.name), nullptr);
}

TEST(Metrics, EachHasAMeasureOfItsOwnAtBencher) {
  Measurement measurement;
  measurement.variant.key = "k";
  Counted counted;
  for (const Metric& metric : kMetrics) counted.metrics[metric.name] = 1;
  measurement.outcome = counted;
  const auto measures = nlohmann::json::parse(report_bencher({measurement})).at("k");
  EXPECT_EQ(measures.size(), kMetrics.size());
  EXPECT_TRUE(measures.contains("instructions"));
}

TEST(Metrics, WordsStandForMetrics) {
  std::map<std::string, std::vector<std::string>> words;
  for (const auto& [word, metrics] : metric_words()) words[word] = names_of(metrics);
  EXPECT_EQ(words.size(), kMetrics.size() + 3);
  EXPECT_EQ(words.at("ir"), std::vector<std::string>{"ir"});
  EXPECT_EQ(words.at("branch"), (std::vector<std::string>{"branches", "mispredictions"}));
  EXPECT_EQ(words.at("cache"), names_of(kCacheMetrics));
  EXPECT_EQ(default_metrics(), (std::vector<std::string>{"ir", "allocs", "alloc_bytes"}));
}

}  // namespace
}  // namespace instr::metrics_test
