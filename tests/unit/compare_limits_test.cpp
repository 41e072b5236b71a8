// The limits that a comparison applies, and how changed limits are reported.
#include "core/compare/judge.h"
#include "tests/unit/compare_testing.h"

namespace instr::compare_limits_test {
namespace {

using namespace testing;

// Returns a count with that limit of its instructions; "": no limit of its own.
Measurement limited(const std::string& key, double ir, const std::string& limit) {
  Measurement measurement = counted(key, ir);
  if (!limit.empty()) measurement.variant.limits["instructions"] = limit;
  return measurement;
}

TEST(CompareLimits, DecideTheVerdict) {
  EXPECT_EQ(make_row(1000, 1005).verdict, Verdict::kWarns);  // just at 0.5%
  EXPECT_EQ(make_row(1000, 1006).verdict, Verdict::kFails);
  EXPECT_EQ(make_row(1000, 1001).verdict, Verdict::kPasses);  // just at 0.1%
  EXPECT_EQ(make_row(1000, 1001).state, RowState::kSlower);   // and shown all the same
  EXPECT_EQ(make_row(1000, 995).verdict, Verdict::kPasses);
  EXPECT_EQ(make_row(1000, 994).verdict, Verdict::kGain);
  EXPECT_EQ(make_row(1000, 994).state, RowState::kFaster);
  CompareOptions options;
  options.limits.hard["instructions"] = Limit{1.0, 50};
  options.limits.soft.clear();
  EXPECT_EQ(make_row(1000, 1050, options).verdict, Verdict::kPasses);
  EXPECT_EQ(make_row(1000, 1051, options).verdict, Verdict::kFails);
  options.limits.hard.erase("instructions");
  EXPECT_EQ(make_row(1000, 9000, options).verdict, Verdict::kPasses);
}

TEST(CompareLimits, APercentageReachedExactlyIsWithinIt) {
  CompareOptions options;
  options.limits.soft.clear();
  for (int percent = 1; percent < 100; ++percent) {
    options.limits.hard["instructions"] = Limit{percent / 10.0, std::nullopt};
    EXPECT_EQ(make_row(1000, 1000 + percent, options).verdict, Verdict::kPasses) << percent;
    EXPECT_EQ(make_row(1000, 1001 + percent, options).verdict, Verdict::kFails) << percent;
  }
}

TEST(CompareLimits, TheMostSpecificLimitApplies) {
  Measurement then = limited("k", 1000, "20%");
  Measurement now = limited("k", 1100, "20%");
  CompareOptions options;
  options.limits.soft.clear();
  EXPECT_EQ(make_row({then}, {now}, options).verdict, Verdict::kPasses);
  options.by_key["k"].hard["instructions"] = Limit{std::nullopt, 5};
  EXPECT_EQ(make_row({then}, {now}, options).verdict, Verdict::kFails);
  options.by_key.clear();
  options.by_key["other"].hard["instructions"] = Limit{std::nullopt, 5};
  EXPECT_EQ(make_row({then}, {now}, options).verdict, Verdict::kPasses);
}

// Each source of a limit wins over the later ones of the table.
TEST(CompareLimits, TheFirstSourceOfTheTableApplies) {
  struct Side {
    LimitTexts carried;
    CompareOptions options;
  };
  const Limit limit{7, std::nullopt};
  const auto set = [&](Side& side, std::size_t source, const Limit& value) {
    Limits limits;
    limits.hard[kInstructions] = value;
    if (source == 0) side.options.margins["k"] = limits;
    if (source == 1) side.options.by_key["k"] = limits;
    if (source == 2) side.carried[kInstructions] = to_string(value);
    if (source == 3) side.options.limits = limits;
  };
  ASSERT_EQ(kLimitSources.size(), 4U);
  for (std::size_t first = 0; first < kLimitSources.size(); ++first) {
    Side side;
    for (std::size_t later = first; later < kLimitSources.size(); ++later) {
      set(side, later, later == first ? limit : Limit{9, std::nullopt});
    }
    const auto limits = value_of(find_limits({"k", side.carried, side.options}));
    EXPECT_EQ(limits.hard.at(kInstructions), limit) << kLimitSources[first].name;
  }
}

TEST(CompareLimits, AChangeCannotLoosenItsOwnLimit) {
  CompareOptions options;
  options.limits.soft.clear();
  // The limit of the definition at the base applies or, if it had none, the general one.
  for (auto [base, head] : {std::pair{"", "none"}, {"", "50%"}, {"5%", "none"}, {"5%", "50%"}}) {
    auto comparison = value_of(
        compare(before({limited("k", 1000, base)}), after({limited("k", 1100, head)}), options));
    EXPECT_EQ(comparison.verdict, Verdict::kFails) << base << " " << head;
    ASSERT_EQ(comparison.problems.size(), 1U);
    std::string was = *base == '\0' ? "0.5%" : base;
    EXPECT_EQ(comparison.problems[0], "the limit of instructions is changed from " + was + " to " +
                                          head + " (" + was + " holds), for 1 benchmark: k");
  }
  // A tighter one also waits for its base, and a removed one applies until then.
  EXPECT_EQ(make_row({limited("k", 1000, "20%")}, {limited("k", 1100, "1%")}, options).verdict,
            Verdict::kPasses);
  EXPECT_EQ(make_row({limited("k", 1000, "20%")}, {limited("k", 1100, "")}, options).verdict,
            Verdict::kPasses);
  // A new key has no base; the limits of missing keys have no effect.
  EXPECT_TRUE(make_row({}, {limited("k", 1100, "none")}).limit_changes.empty());
  EXPECT_TRUE(make_row({limited("k", 1100, "none")}, {}).limit_changes.empty());
  // A failure at the base still has limits.
  Measurement broken = failed("k");
  broken.variant.limits["instructions"] = "5%";
  EXPECT_EQ(make_row({broken}, {limited("k", 1, "none")}).limit_changes.size(), 1U);
  // Expected counts do not come from a run: the limits are those of the measurements.
  options.base_has_limits = false;
  EXPECT_EQ(make_row({counted("k", 1000)}, {limited("k", 1100, "20%")}, options).verdict,
            Verdict::kPasses);
}

TEST(CompareLimits, TheLimitsFileOfTheBaseApplies) {
  CompareOptions options;
  options.by_key["k"].hard["instructions"] = Limit{};
  options.by_key["k"].soft["allocs"] = Limit{1.0, 2};
  EXPECT_TRUE(make_row(1000, 2000, options).limit_changes.empty());
  options.by_key_before.emplace();
  ComparedRow row = make_row(1000, 2000, options);
  EXPECT_EQ(row.verdict, Verdict::kFails);
  ASSERT_EQ(row.limit_changes.size(), 2U);
  EXPECT_EQ(row.limit_changes[0],
            (LimitChange{"instructions", false, Limit{0.5, std::nullopt}, {}}));
  EXPECT_EQ(row.limit_changes[1], (LimitChange{"allocs", true, {}, Limit{1.0, 2}}));
  // A key that is new has no limits of a base.
  EXPECT_EQ(make_row({}, {counted("k", 5)}, options).metric("instructions")->hard, std::nullopt);
}

TEST(CompareLimits, AChangedLimitIsReportedOnce) {
  std::vector<Measurement> first, second;
  for (const char* key : {"a", "b", "c", "d", "e"}) {
    first.push_back(counted(key, 10));
    second.push_back(limited(key, 10, "1%|+5"));
  }
  auto comparison = value_of(compare(before(first), after(second)));
  EXPECT_EQ(comparison.verdict, Verdict::kWarns);
  EXPECT_EQ(comparison.problems,
            (std::vector<std::string>{
                "the limit of instructions is changed from 0.5% to 1%|+5 (0.5% holds), "
                "for 5 benchmarks: a, b, c and 2 more"}));
}

TEST(CompareLimits, NoneDisablesALimit) {
  CompareOptions options;
  options.by_key["k"].hard["instructions"] = Limit{};
  options.by_key["k"].soft["instructions"] = Limit{};
  ComparedRow row = make_row({counted("k", 1000)}, {counted("k", 9000)}, options);
  EXPECT_EQ(row.verdict, Verdict::kPasses);
  EXPECT_EQ(row.state, RowState::kSlower);
  EXPECT_EQ(row.metric("instructions")->hard, std::nullopt);
  EXPECT_EQ(make_row({counted("k", 9000)}, {counted("k", 1000)}, options).verdict,
            Verdict::kPasses);
  // Nor is a metric that one side lacks.
  row = make_row({counted("k", {{"instructions", 5}, {"allocs", 1}})},
                 {counted("k", {{"allocs", 1}})}, options);
  EXPECT_EQ(row.verdict, Verdict::kPasses);
  EXPECT_EQ(row.state, RowState::kSame);
}

TEST(CompareLimits, AMalformedLimitInTheResultsIsAnError) {
  Measurement edited = counted("matmul/mm", 1);
  edited.variant.limits["instructions"] = "lots";
  auto comparison = compare(before({edited}), after({edited}));
  ASSERT_FALSE(comparison);
  EXPECT_HAS(comparison.error().what, "`matmul/mm`");
  EXPECT_HAS(comparison.error().what, "`lots`");
}

}  // namespace
}  // namespace instr::compare_limits_test
