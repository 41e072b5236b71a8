// Expected verification codes: reading them, comparing with them, and updating them in place.

#include "core/compare/expected_values.h"
#include "core/results/results_file.h"
#include "tests/golden.h"
#include "tests/testing.h"

namespace instr::expected_codes_test {
namespace {

using namespace testing;

using Code = VerificationCode;

SourceText csv(const std::string& text) { return SourceText("codes.csv", text); }

std::string errors_of(const SourceText& source) {
  const auto codes = parse_expected_codes(source);
  std::string lines;
  if (codes) return lines;
  for (const Error& error : codes.error()) lines += to_string(error) + "\n";
  return lines;
}

Measurement record(const std::string& model, Code code,
                   std::variant<Counted, Skipped, Failure> outcome = Counted{}) {
  return {parse_key(model + "/frozen/forward/t1/cpu"), std::move(outcome), 0,
          Verification{code, "why"}};
}

const Failure kFailure{FailureKind::kException, "too many"};

Measurement eager_of(Measurement measurement) {
  measurement.variant = make_eager(measurement.variant);
  measurement.verification.reset();
  return measurement;
}

std::string key_of(const std::string& model) { return record(model, Code::kPass).variant.key; }

bool all(const std::string&) { return true; }

TEST(ExpectedCodes, AreReadWithTheirPlaces) {
  const auto codes =
      value_of(parse_expected_codes(csv("# ours\nkey,code\n\"a,b\",PASS\nc, FAIL\n")));
  ASSERT_EQ(codes.size(), 2u);
  EXPECT_EQ(codes[0].key, "a,b");
  EXPECT_EQ(codes[1].code, Code::kFail);
}

TEST(ExpectedCodes, NameWhatIsWrongAndWhere) {
  EXPECT_EQ(errors_of(csv("key,metric\n")),
            "codes.csv:1:5: column 2 is `metric` and not `code`: the first line is `key,code`\n");
  EXPECT_GOLDEN("expected/errors_of_codes.txt",
                errors_of(csv("key,code\na,PAS\n,PASS\nb\nc,FAIL\nc,PASS\n")));
  EXPECT_EQ(errors_of(SourceText("codes.toml", "")),
            "codes.toml: expected codes must be in a CSV file: give the file a name that ends in "
            ".csv\n");
}

TEST(ExpectedCodes, AreWorseUnlessEqualOrPass) {
  const std::vector<ExpectedCode> expected{
      {key_of("same"), Code::kFail},          {key_of("worse"), Code::kPass},
      {key_of("other failure"), Code::kFail}, {key_of("better"), Code::kFail},
      {key_of("gone"), Code::kPass},          {key_of("skipped"), Code::kPass}};
  std::vector<Measurement> records{record("same", Code::kFail),
                                   record("worse", Code::kFail),
                                   record("other failure", Code::kExceptionRaised),
                                   record("better", Code::kPass),
                                   record("skipped", Code::kVerifierSkipped, Skipped{"no"}),
                                   record("new", Code::kPass)};
  records.push_back(eager_of(records.front()));
  const CodeComparison compared = compare_codes(expected, records, all);
  EXPECT_EQ(compared.same, 1u);
  EXPECT_EQ(compared.failing, (std::vector<std::string>{key_of("same")}));
  ASSERT_EQ(compared.worse.size(), 2u);
  EXPECT_EQ(compared.worse[0].key, key_of("worse"));
  EXPECT_EQ(compared.worse[0].reason, "why");
  EXPECT_EQ(compared.worse[1].code, Code::kExceptionRaised);
  ASSERT_EQ(compared.better.size(), 1u);
  EXPECT_EQ(compared.better[0].expected, Code::kFail);
  EXPECT_EQ(compared.missing, (std::vector<std::string>{key_of("gone")}));
  EXPECT_EQ(compared.fresh, 1u);
  // Keys that the run does not select are not missing.
  EXPECT_TRUE(compare_codes(expected, records, [](const auto&) { return false; }).missing.empty());
}

// After a verification that has passed.
TEST(ExpectedCodes, FailuresInTheTimedRunsCanBeExpected) {
  const Measurement late = record("late", Code::kPass, kFailure);
  const Measurement eager = eager_of(late);
  const std::vector<Measurement> records{late, eager, record("fine", Code::kPass)};
  const std::string before = "key,code\n" + key_of("fine") + ",PASS\n" + key_of("late") + ",PASS\n";
  const auto old = value_of(parse_expected_codes(csv(before)));
  const CodeComparison worse = compare_codes(old, records, all);
  ASSERT_EQ(worse.worse.size(), 1u);
  EXPECT_EQ(worse.worse[0].reason, "exception: too many");
  EXPECT_EQ(worse.fresh, 1u);
  const auto update = value_of(update_expected_codes(csv(before), records, all));
  EXPECT_EQ(update.text, "key,code\n" + key_of("fine") + ",PASS\n" + eager.variant.key +
                             ",EAGER_FAILED\n" + key_of("late") + ",EXCEPTION_RAISED\n");
  const auto expected = value_of(parse_expected_codes(csv(update.text)));
  const CodeComparison same = compare_codes(expected, records, all);
  EXPECT_EQ(same.same, 3u);
  EXPECT_EQ(same.fresh, 0u);
  EXPECT_EQ(same.failing, (std::vector<std::string>{eager.variant.key, late.variant.key}));
  // Once eager works again.
  Measurement works = eager;
  works.outcome = Counted{};
  const CodeComparison better = compare_codes(expected, std::vector{late, works, records[2]}, all);
  ASSERT_EQ(better.better.size(), 1u);
  EXPECT_EQ(better.better[0].key, eager.variant.key);
}

TEST(ExpectedCodes, EagerHasNoLineIfThoseOfTheOthersSayThatItFailed) {
  const Measurement eager = eager_of(record("a", Code::kPass, kFailure));
  const std::vector<Measurement> records{record("a", Code::kEagerFailed), eager};
  const auto update = value_of(update_expected_codes(csv("key,code\n"), records, all));
  EXPECT_EQ(update.text, "key,code\n" + key_of("a") + ",EAGER_FAILED\n");
}

TEST(ExpectedCodes, AreSortedByAnUpdateWithTheirComments) {
  const std::string before = "# ours\r\nkey,code\r\n\"" + key_of("b") + "\",PASS\r\n# gone\r\n" +
                             key_of("gone") + ",PASS\r\n# known\r\n" + key_of("a") +
                             ",FAIL\r\n# the end";
  const std::vector<Measurement> records{record("a", Code::kPass), record("b", Code::kFail),
                                         record("an, d", Code::kPass)};
  const auto update = value_of(update_expected_codes(csv(before), records, all));
  EXPECT_EQ(update.text, "# ours\nkey,code\n# known\n" + key_of("a") + ",PASS\n\"" +
                             key_of("an, d") + "\",PASS\n" + key_of("b") + ",FAIL\n# the end\n");
  EXPECT_EQ(update.changed, 2u);
  EXPECT_EQ(update.removed, 1u);
  EXPECT_EQ(update.added, 1u);
  EXPECT_EQ(errors_of(csv(update.text)), "");
}

}  // namespace
}  // namespace instr::expected_codes_test
