// The table of metrics, compared with other texts about them.
#include "core/definitions/metrics.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/report/report.h"
#include "tests/unit/documents.h"
#include "worker/event_counter.h"

namespace instr::metrics_test {
namespace {

using testing::rows_of;
using testing::source_file;

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

const char* page_of(MetricGroup group) {
  switch (group) {
    case MetricGroup::kCounted:
    case MetricGroup::kCache:
    case MetricGroup::kBranch: return "docs/COMPARING.md";
    case MetricGroup::kTime:
    case MetricGroup::kHardware:
    case MetricGroup::kKernel:
    case MetricGroup::kStart:
    case MetricGroup::kDevice: return "docs/TIMING.md";
  }
  return "";
}

// Those whose tables have columns for them.
bool has_default_limits(MetricGroup group) {
  return group == MetricGroup::kCounted || group == MetricGroup::kHardware;
}

std::string text_of(const Limit& limit) { return limit.is_none() ? "" : to_string(limit); }

// The first cells of its row.
std::vector<std::string> documented(const Metric& metric) {
  std::vector<std::string> cells{std::string("`") + metric.name + "`", to_string(metric.unit)};
  if (has_default_limits(metric.group)) {
    cells.push_back(text_of(metric.hard_limit));
    cells.push_back(text_of(metric.soft_limit));
  }
  return cells;
}

TEST(Metrics, AreInTheTablesOfTheDocuments) {
  for (const char* page : {"docs/COMPARING.md", "docs/TIMING.md"}) {
    std::vector<std::vector<std::string>> expected;
    for (const Metric& metric : kMetrics) {
      if (page_of(metric.group) == std::string(page)) expected.push_back(documented(metric));
    }
    auto rows = rows_of(source_file(page), "metric");
    for (std::size_t i = 0; i < std::min(rows.size(), expected.size()); ++i) {
      EXPECT_GT(rows[i].size(), expected[i].size()) << "what is it? " << rows[i].front();
      rows[i].resize(expected[i].size());
    }
    EXPECT_EQ(rows, expected) << page;
  }
  for (const Metric& metric : kMetrics) {
    if (has_default_limits(metric.group)) continue;
    EXPECT_TRUE(metric.hard_limit.is_none() && metric.soft_limit.is_none())
        << metric.name << ": the documents have no column for it";
  }
}

}  // namespace
}  // namespace instr::metrics_test
