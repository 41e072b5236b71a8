#include "core/report/list.h"

#include <gtest/gtest.h>

#include "core/compile/compiled_variant.h"
#include "tests/golden.h"

namespace instr::list_test {
namespace {

Variant variant(const std::string& label, const std::string& rest) {
  Variant made;
  made.label = label;
  made.key = label + rest;
  return made;
}

TEST(List, OneKeyPerLine) {
  std::vector<Variant> variants{variant("b", "/eager"), variant("a", "/eager"), variant("b", "/x")};
  EXPECT_EQ(list_keys(variants), "b/eager\na/eager\nb/x\n");
  EXPECT_EQ(list_keys({}), "");
  EXPECT_EQ(list_summary(variants), "3 variants of 2 benchmarks\n");
  EXPECT_EQ(list_summary({variant("a", "")}), "1 variant of 1 benchmark\n");
}

TEST(DryRun, SaysWhatWouldHappen) {
  std::vector<PlannedVariant> planned{{variant("a", "/eager"), PlannedStep::kCached, ""},
                                      {variant("b\x1b", ""), PlannedStep::kCompile, ""},
                                      {variant("c", ""), PlannedStep::kUnknown, ""},
                                      {variant("d", ""), PlannedStep::kSkip, "no CUDA"},
                                      {variant("e", ""), PlannedStep::kMeasured, ""}};
  EXPECT_GOLDEN("list/dry_run.txt", dry_run_text(planned, false));
  EXPECT_EQ(dry_run_text({}, false), "\n0 would be measured\n");
  EXPECT_TRUE(dry_run_text(planned, true).starts_with("\x1b[32mcached\x1b[0m    a/eager\n"));
}

}  // namespace
}  // namespace instr::list_test
