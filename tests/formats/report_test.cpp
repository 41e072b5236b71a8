// Reports of a run, read by the programs that use them.
#include <cmath>
#include <set>

#include "core/base/csv.h"
#include "core/base/format.h"
#include "core/report/run_report.h"
#include "tests/formats/consumers.h"
#include "tests/formats/hostile.h"

namespace instr::formats::report_test {
namespace {

class ReportFormats : public ConsumerTest {
 protected:
  static Results recorded(const std::string& name) { return value_of(read_results(fixture(name))); }

  static std::string report_of(ReportFormat format, const Results& results) {
    return report(format, results.measurements, {.header = results.header});
  }

  static std::string hostile(ReportFormat format) {
    Results results;
    results.header.fingerprint.entries = {{"odd <name>\x01", "\xff \"value\""}, {"date", "none"}};
    results.header.started = "2024-05-01T12:00:00Z";
    results.measurements = hostile_measurements();
    return report_of(format, results);
  }

  // Runs compare.py of Google Benchmark on both, and returns its report by benchmark.
  std::map<std::string, json> compare_py(const std::string& before,
                                         const std::string& after) const {
    std::string dump = (folder() / "compared.json").string();
    table_ =
        run({(consumers() / "bin/python").string(), "/usr/share/benchmark/compare.py", "--no-color",
             "-d", dump, "benchmarks", write("before.json", before), write("after.json", after)});
    std::map<std::string, json> benchmarks;
    for (const json& one : json::parse(std::ifstream(dump), nullptr, false)) {
      EXPECT_EQ(one["measurements"].size(), 1u) << one;
      benchmarks[one["name"]] = one["measurements"][0];
    }
    return benchmarks;
  }

  mutable std::string table_;  // that compare.py printed
};

TEST_F(ReportFormats, HostileJsonAndCsv) {
  std::size_t count = hostile_measurements().size();
  EXPECT_EQ(read("json", hostile(ReportFormat::kJson))["measurements"].size(), count);
  json lines = read("jsonl", hostile(ReportFormat::kJsonl));
  ASSERT_EQ(lines.size(), count + 2);  // the header and the end
  json rows = read("csv", hostile(ReportFormat::kCsv));
  ASSERT_EQ(rows.size(), count);
  for (std::size_t i = 0; i < count; ++i) {
    const Measurement measurement = hostile_measurements()[i];
    EXPECT_EQ(rows[i]["key"], as_cell(printable(measurement.variant.key, true)));
    // JSON contains all UTF-8 text unchanged.
    bool is_utf8 = measurement.variant.key.find('\xff') == std::string::npos;
    if (is_utf8) {
      EXPECT_EQ(lines[i + 1]["key"], measurement.variant.key);
    }
    if (i % 3 != 1) continue;
    EXPECT_EQ(rows[i]["message"], as_cell(printable(measurement.variant.label, true)));
  }
}

TEST_F(ReportFormats, JunitOfARun) {
  Results results = recorded("after.jsonl");
  json suites = read_junit(report_of(ReportFormat::kJunit, results));
  ASSERT_EQ(suites.size(), 1u);
  const json& suite = suites[0];
  EXPECT_EQ(suite["tests"], 11);
  EXPECT_EQ(suite["errors"], 2);
  EXPECT_EQ(suite["skipped"], 1);
  EXPECT_EQ(suite["failures"], 0);
  EXPECT_EQ(suite["properties"]["libtorch_version"], "1.13.0");
  std::map<std::string, json> cases;
  for (const json& one : suite["cases"]) cases[one["name"]] = one;
  const json& broken = cases.at("breaks/later/eager/forward/t1/cpu");
  EXPECT_EQ(broken["classname"], "breaks/later");
  EXPECT_EQ(broken["result"], "error");
  EXPECT_EQ(broken["type"], "exception");
  EXPECT_EQ(broken["message"], "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)");
  EXPECT_EQ(cases.at("breaks/throws/eager/forward/t1/cpu")["text"],
            "one \"quoted\" | line,\nand another <b>&amp;</b>");
  EXPECT_EQ(cases.at("needs/newer/eager/forward/t1/cpu")["message"],
            "needs LibTorch >=99.0, this is 1.13.0");
  const json& counted = cases.at("odd/\"quoted\" | <piped> & größe/eager/forward/t1/cpu");
  EXPECT_EQ(counted["result"], "passed");
  EXPECT_EQ(counted["output"],
            "alloc_bytes=0\nallocs=0\ninstructions=1\npeak_bytes=0\niterations=60\nsteady=true");
}

TEST_F(ReportFormats, HostileJunit) {
  json suite = read_junit(hostile(ReportFormat::kJunit))[0];
  std::vector<Measurement> measurements = hostile_measurements();
  ASSERT_EQ(suite["cases"].size(), measurements.size());
  EXPECT_EQ(suite["properties"]["odd <name>\xEF\xBF\xBD"], "\xEF\xBF\xBD \"value\"");
  for (std::size_t i = 0; i < measurements.size(); ++i) {
    // XML forbids two characters that can be printed.
    if (measurements[i].variant.label.starts_with("noncharacters")) continue;
    EXPECT_EQ(suite["cases"][i]["name"], printable(measurements[i].variant.key));
    if (i % 3 != 1) continue;
    EXPECT_EQ(suite["cases"][i]["text"], printable(measurements[i].variant.label, true));
  }
}

Measurement timed(const std::string& key, double wall, double cpu) {
  return counted(key, {{kWall, wall}, {kCpu, cpu}, {kInstructions, 7}});
}

TEST_F(ReportFormats, GoogleBenchmarkComparesTimes) {
  Results before;
  Results after;
  before.measurements = {timed("slower", 1000, 900), timed("same", 500.25, 400.5)};
  after.measurements = {timed("slower", 2000, 3600), timed("same", 500.25, 400.5)};
  auto rows =
      compare_py(report_of(ReportFormat::kGbench, before), report_of(ReportFormat::kGbench, after));
  EXPECT_EQ(rows.at("slower")["time"], 1.0);
  EXPECT_EQ(rows.at("slower")["cpu"], 3.0);
  EXPECT_EQ(rows.at("slower")["real_time_other"], 2000);
  EXPECT_EQ(rows.at("same")["real_time"], 500.25);
  EXPECT_EQ(rows.at("same")["cpu_time"], 400.5);
  EXPECT_EQ(rows.at("same")["time"], 0.0);
  // The geometric mean of both, in seconds.
  EXPECT_NEAR(rows.at("OVERALL_GEOMEAN")["real_time"], std::sqrt(1000 * 500.25) * 1e-9, 1e-15);
  EXPECT_NEAR(rows.at("OVERALL_GEOMEAN")["time"], std::sqrt(2) - 1, 1e-12);
  EXPECT_HAS(table_, "+1.0000         +3.0000          1000          2000           900");
}

// Not timed after the change, or failed: no gain.
TEST_F(ReportFormats, GoogleBenchmarkComparesNoTimeWithNone) {
  Results before;
  Results after;
  before.measurements = {timed("counted", 1000, 900), timed("failed", 1000, 900)};
  after.measurements = before.measurements;
  std::get<Counted>(after.measurements[0].outcome).metrics = {{kInstructions, 7}};
  after.measurements[1].outcome = Failure{FailureKind::kCrashed, ""};
  const std::string text = report_of(ReportFormat::kGbench, before);
  const std::string without = report_of(ReportFormat::kGbench, after);
  EXPECT_EQ(compare_py(text, without).size(), 0u);
  EXPECT_EQ(compare_py(without, text).size(), 0u);
}

TEST_F(ReportFormats, HostileGoogleBenchmark) {
  std::string text = hostile(ReportFormat::kGbench);
  auto rows = compare_py(text, text);
  for (const std::string& key : hostile_texts()) {
    for (const char* kind : {"/0", "/1"}) {
      ASSERT_EQ(rows.count(printable(key + kind)), 1u) << key;
      EXPECT_EQ(rows[printable(key + kind)]["real_time"], 0) << key;
    }
  }
  json document = read("json", text);
  EXPECT_EQ(document["context"]["date"], "2024-05-01T12:00:00Z");
  for (const json& one : document["benchmarks"]) {
    for (const auto& [name, value] : one.items()) EXPECT_FALSE(value.is_null()) << name;
  }
}

TEST_F(ReportFormats, HostileBencher) {
  json document = validate("bencher.schema.json", hostile(ReportFormat::kBencher));
  EXPECT_EQ(document.size(), hostile_texts().size());
  EXPECT_EQ(document["größe/矩阵/🙂/0"]["negative"]["value"], -2.25);
}

TEST_F(ReportFormats, HostileSmallerIsBetter) {
  json list = validate("smaller_is_better.schema.json", hostile(ReportFormat::kSmallerIsBetter));
  std::set<std::string> names;
  int ranges = 0;
  for (const json& entry : list) {
    EXPECT_TRUE(names.insert(entry["name"]).second) << entry;
    if (!entry.contains("range")) continue;
    EXPECT_EQ(entry["range"], "± 3");
    ++ranges;
  }
  EXPECT_EQ(list.size(), hostile_texts().size() * 4);
  EXPECT_EQ(ranges, static_cast<int>(hostile_texts().size()));
}

}  // namespace
}  // namespace instr::formats::report_test
