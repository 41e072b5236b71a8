#include "core/report/backend_summary.h"

#include "core/report/run_report.h"
#include "tests/golden.h"
#include "tests/testing.h"

namespace instr::backend_summary_test {
namespace {

using namespace testing;

Measurement timed(const std::string& key, double wall, double ready = 0) {
  if (ready == 0) return testing::timed(key, {wall, wall, wall});
  return testing::timed(key, {wall, wall, wall},
                        {{kFirstResultTime, {ready / 2}}, {kReadyTime, {ready}}});
}

std::vector<BackendSummary> summarized(const std::vector<Measurement>& measurements) {
  return summarize_backends(measurements, Grouping::kNone);
}

TEST(BackendSummary, AreSummedUpOverBenchmarks) {
  auto all = summarized(
      {timed("a/eager/forward/t1/cpu", 8), timed("a/torchscript/forward/t1/cpu", 4, 100),
       timed("b/eager/forward/t1/cpu", 10), timed("b/torchscript/forward/t1/cpu", 80, 300),
       failed("b/frozen/forward/t1/cpu"), timed("b/torchscript/forward/t2/cpu", 1)});
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].backend, Backend::kEager);
  EXPECT_EQ(all[0].passed, 2u);
  EXPECT_EQ(all[0].fastest, 1u);
  EXPECT_FALSE(all[0].ready);
  EXPECT_EQ(all[1].backend, Backend::kTorchScript);
  EXPECT_EQ(all[1].requested, 3u);
  EXPECT_EQ(all[1].passed, 3u);
  EXPECT_EQ(all[1].fastest, 1u);             // one without anything to compare with does not count
  EXPECT_NEAR(*all[1].speedup, 0.5, 1e-12);  // of 2 and 1/8
  EXPECT_EQ(all[1].ready, 200);
  EXPECT_EQ(all[1].first_result, 100);
  EXPECT_EQ(all[2].backend, Backend::kFrozen);
  EXPECT_EQ(all[2].requested, 1u);
  EXPECT_EQ(all[2].passed, 0u);
  EXPECT_FALSE(all[2].speedup);
}

TEST(BackendSummary, AreComparedWithEagerOfTheirOwnLanguage) {
  const Measurement eager = timed("a/eager/forward/t1/cpu", 8);
  const Measurement in_python = timed("a/py/eager/forward/t1/cpu", 16);
  EXPECT_FALSE(backend_table({eager, in_python}));
  auto all = summarized({eager, in_python, timed("a/py/torchscript/forward/t1/cpu", 4)});
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].fastest, 0u);
  EXPECT_EQ(all[1].language, Language::kPython);
  EXPECT_EQ(all[2].speedup, 4);
  EXPECT_EQ(all[2].fastest, 1u);
}

TEST(BackendSummary, AWrongResultIsNotASpeedup) {
  Measurement eager = timed("a/eager/forward/t1/cpu", 8);
  Measurement script = timed("a/torchscript/forward/t1/cpu", 4);
  for (VerificationCode wrong : {VerificationCode::kFail, VerificationCode::kVerifierSkipped}) {
    EXPECT_FALSE(backend_table({eager, verified(script, wrong)}));
  }
  auto all = summarized({eager, verified(script, VerificationCode::kPass)});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[1].fastest, 1u);
  EXPECT_EQ(find_fastest({&eager, nullptr}), nullptr);
  EXPECT_EQ(find_fastest({&eager, &script}), &script);
}

// A slightly lower median by chance is not worth the preparation.
TEST(BackendSummary, WithoutASignificantDifferenceThePlainestIsFastest) {
  auto of = [](const std::string& backend, std::vector<double> wall) {
    Measurement measurement = timed("a/" + backend + "/forward/t1/cpu", 1);
    std::get<Counted>(measurement.outcome).timing->values[kWall] = std::move(wall);
    return measurement;
  };
  Measurement eager = of("eager", {8, 9, 10, 11, 12});
  Measurement script = of("torchscript", {4, 5, 6, 7, 8});
  Measurement frozen = of("frozen", {4, 5, 5.9, 7, 8});
  EXPECT_EQ(find_fastest({&frozen, &eager, &script}), &script);
  EXPECT_EQ(find_fastest({&eager, &frozen}), &frozen);
  const Measurement slower = of("frozen", {7, 9, 9.9, 11, 12});
  EXPECT_EQ(find_fastest({&slower, &eager}), &eager);
}

TEST(BackendSummary, MemoryIsComparedWithEager) {
  auto with = [](Measurement measurement, const char* metric, double bytes) {
    std::get<Counted>(measurement.outcome).metrics[metric] = bytes;
    return measurement;
  };
  std::vector<Measurement> some{with(timed("a/eager/forward/t1/cpu", 8), "peak_bytes", 800),
                                with(timed("a/frozen/forward/t1/cpu", 4), "peak_bytes", 100),
                                with(timed("b/eager/forward/t1/cuda", 8), "peak_bytes", 1),
                                timed("b/frozen/forward/t1/cuda", 8),
                                timed("c/eager/forward/t1/cpu", 8)};
  some[2] = with(some[2], "device_peak_bytes", 100);
  some[3] = with(some[3], "device_peak_bytes", 200);
  auto all = summarized(some);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_NEAR(*all[1].memory_ratio, 2, 1e-12);  // of 8 and 1/2
  EXPECT_GOLDEN("report/memory_by_backend.md",
                report(ReportFormat::kMarkdown, some, {.metrics = {"wall", "peak_bytes"}}));
  EXPECT_FALSE(summarized({some[4], timed("c/frozen/forward/t1/cpu", 2)})[1].memory_ratio);
}

TEST(BackendSummary, HaveATable) {
  ReportOptions options{.metrics = {"wall", "first_result", "ready"}};
  std::vector<Measurement> both{timed("a/eager/forward/t1/cpu", 8, 20),
                                timed("a/torchscript/forward/t1/cpu", 4, 100)};
  EXPECT_GOLDEN("report/times_by_backend.txt", report(ReportFormat::kTable, both, options));
  EXPECT_GOLDEN("report/times_by_backend.md", report(ReportFormat::kMarkdown, both, options));
  EXPECT_GOLDEN("report/times_of_one_backend.txt",
                report(ReportFormat::kTable, {both[0]}, options));
  options.render.width = 20;
  EXPECT_GOLDEN("report/times_by_backend_in_a_narrow_table.txt",
                report(ReportFormat::kTable, both, options));
}

}  // namespace
}  // namespace instr::backend_summary_test
