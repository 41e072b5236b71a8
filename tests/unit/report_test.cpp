#include <nlohmann/json.hpp>

#include "core/base/format.h"
#include "core/compile/compiled_variant.h"
#include "core/definitions/variant.h"
#include "core/report/list.h"
#include "core/report/run_report.h"
#include "core/report/run_table.h"
#include "tests/golden.h"
#include "tests/testing.h"

namespace instr::report_test {
namespace {

using namespace testing;

struct Where {
  Backend backend = Backend::kEager;
  Autograd autograd = Autograd::kForward;
  int threads = 1;
};

constexpr Where kEager{};
constexpr Where kEagerBackward{Backend::kEager, Autograd::kForwardBackward};
constexpr Where kScript{Backend::kTorchScript, Autograd::kForward};
constexpr Where kScriptBackward{Backend::kTorchScript, Autograd::kForwardBackward};

std::string key_of(const std::string& label, const std::string& n, const Where& where) {
  return label + (n.empty() ? "" : "/n=" + n) + "/" + to_string(where.backend) + "/" +
         to_string(where.autograd) + "/t" + std::to_string(where.threads) + "/cpu";
}

// The measurement, as one that took half a second.
Measurement with_seconds(Measurement made) {
  made.seconds = 0.5;
  return made;
}

Measurement counted(const std::string& label, const std::string& n, double ir,
                    const Where& where = kEager) {
  Measurement made = testing::counted(
      key_of(label, n, where),
      {{"instructions", ir}, {"allocs", 3}, {"alloc_bytes", 1920}, {"peak_bytes", 64}});
  std::get<Counted>(made.outcome).gated = where.threads == 1;
  return with_seconds(std::move(made));
}

Measurement unsteady(const std::string& label, double first, double second) {
  Measurement made = counted(label, "", second);
  auto& outcome = std::get<Counted>(made.outcome);
  outcome.steady = false;
  outcome.first_block_instructions = first;
  return made;
}

Measurement failed(const std::string& label, FailureKind kind, const std::string& message,
                   const Where& where = kEager) {
  return with_seconds(testing::failed(key_of(label, "", where), kind, message));
}

Measurement skipped(const std::string& label, const std::string& reason) {
  return with_seconds(testing::skipped(key_of(label, "", kEager), reason));
}

ReportOptions at_width(std::size_t width) {
  const ReportOptions options{.render = {.width = width}, .seconds = 14.83};
  return options;
}

std::vector<Measurement> all_kinds() {
  return {counted("matmul/mm", "4", 5313),
          counted("matmul/mm", "4", 17642, kEagerBackward),
          counted("matmul/mm", "4", 6112, kScript),
          counted("matmul/mm", "4", 18001, kScriptBackward),
          counted("matmul/mm", "64", 112313),
          counted("matmul/mm", "64", 112399.5, {Backend::kEager, Autograd::kForward, 2}),
          unsteady("empty/none", 210, 212),
          failed("nn/LSTM", FailureKind::kCrashed, "signal 11"),
          counted("nn/LSTM", "", 44123, kEagerBackward),
          skipped("attention/sdpa", "needs LibTorch >=2.0")};
}

std::string table(const std::vector<Measurement>& measurements,
                  const ReportOptions& options = at_width(0)) {
  return report(ReportFormat::kTable, measurements, options);
}

TEST(ReportTable, ShowsVariantsSideBySide) {
  EXPECT_GOLDEN("report/all_outcomes.txt", table(all_kinds()));
}

TEST(ReportTable, MarksWhatChangesItsOwnState) {
  Measurement grows = counted("grows", "", 95.0 / 24);
  std::get<Counted>(grows.outcome).changes_state = true;
  EXPECT_GOLDEN("report/changes_state.txt", table({grows}));
}

TEST(ReportTable, NothingMeasured) { EXPECT_EQ(table({}, at_width(80)), "nothing was measured\n"); }

TEST(ReportTable, OneVariantIsOneLine) {
  ReportOptions options = at_width(80);
  options.seconds.reset();
  EXPECT_GOLDEN("report/one_variant.txt", table({counted("matmul/mm", "64", 112313)}, options));
}

TEST(ReportTable, ShowsTheRequestedMetrics) {
  ReportOptions options = at_width(80);
  options.metrics = {"allocs", "peak_bytes"};
  EXPECT_GOLDEN("report/requested_metrics.txt", table({unsteady("a", 1, 2)}, options));
}

Measurement with_allocs(Measurement made, double allocs) {
  std::get<Counted>(made.outcome).metrics["allocs"] = allocs;
  return made;
}

TEST(ReportTable, NamesTheVariantOfOtherMetrics) {
  ReportOptions options = at_width(0);
  options.metrics = {"instructions", "allocs"};
  const Measurement eager = with_allocs(counted("a", "", 1), 4);
  const Measurement script = with_allocs(counted("a", "", 2, kScript), 7);
  const Measurement other = with_allocs(counted("b", "", 3, kScriptBackward), 9);
  EXPECT_GOLDEN("report/allocs_of_the_first_variant.txt", table({eager, script}, options));
  EXPECT_GOLDEN("report/allocs_of_two_first_variants.txt", table({eager, script, other}, options));
  // Nothing replaces the others if instructions are not requested.
  options.metrics = {"allocs"};
  EXPECT_GOLDEN("report/allocs_of_all_variants.txt",
                table({eager, script, failed("b", FailureKind::kCrashed, "")}, options));
}

TEST(ReportTable, SaysHowManyOfARowAreSteady) {
  Measurement unsteady_one = counted("a", "", 2, kScript);
  std::get<Counted>(unsteady_one.outcome).steady = false;
  EXPECT_GOLDEN("report/one_of_two_is_steady.txt", table({counted("a", "", 1), unsteady_one}));
}

// In the order of the measurements; a group of several rows gets a heading.
TEST(ReportTable, GroupsByLabel) {
  EXPECT_GOLDEN("report/groups_by_label.txt",
                table({counted("b/x", "", 1), counted("a/z", "", 2), counted("b/y", "", 3),
                       counted("alone", "1", 4), counted("alone", "2", 5)}));
}

TEST(ReportTable, LeavesOutAColumnOfSkippedVariants) {
  const Where script{Backend::kTorchScript, Autograd::kForward};
  Measurement without = counted("nn/a", "", 7, script);
  without.outcome = Skipped{"no Python"};
  EXPECT_GOLDEN("report/all_of_a_column_skipped.txt", table({counted("nn/a", "", 5), without}));
  // Unless a row has no other: "nn/b" here.
  Measurement alone = without;
  alone.variant.label = "nn/b";
  EXPECT_GOLDEN("report/all_of_a_row_skipped.txt", table({counted("nn/a", "", 5), without, alone}));
  // A narrow terminal has a row for each variant.
  const std::vector<Measurement> both{counted("nn/a", "", 5), without};
  const auto rows = RunTable(both, {}, RunTable::Shape::kTall).whole().rows;
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].name, "eager");
}

TEST(ReportTable, ListsFailuresWithTheirMessages) {
  EXPECT_GOLDEN(
      "report/failures.txt",
      table({failed("nn/a", FailureKind::kCompileError, "one:1:2: error\n  two\n"),
             failed("nn/a", FailureKind::kCompileError, "one:1:2: error\n  two\n", kEagerBackward),
             failed("nn/b", FailureKind::kException, ""),
             failed("nn/c", FailureKind::kUnsupported, "no CUDA"), skipped("nn/d", "no CUDA")}));
}

TEST(ReportTable, CutsEndlessMessages) {
  std::string message;
  for (int i = 0; i < 1000; ++i) message += "line " + std::to_string(i) + "\n";
  EXPECT_HAS(table({failed("a", FailureKind::kCompileError, message)}),
             "    line 38\n    (and 961 more lines)\n\n0 counted; 1 failed");
}

// A snippet's output must not reach the terminal as control sequences.
TEST(ReportTable, DisarmsControlCharacters) {
  for (ReportFormat format : {ReportFormat::kTable, ReportFormat::kMarkdown}) {
    std::string text = report(format,
                              {failed("a\x1b[2J", FailureKind::kException, "\x1b]0;title\x07"),
                               skipped("b", "\x1b[31m"), counted("c\x1b", "\x1b", 1)},
                              at_width(0));
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_EQ(text.find('\x07'), std::string::npos);
  }
}

// The marks in the cells say what the column "steady" does.
TEST(ReportTable, NarrowDropsTheLastColumn) {
  EXPECT_GOLDEN("report/narrow_without_steady.txt", table(all_kinds(), at_width(80)));
}

TEST(ReportTable, NarrowerHasARowForEachVariant) {
  std::vector<Measurement> few{
      counted("matmul/mm", "4", 5313), counted("matmul/mm", "4", 17642, kEagerBackward),
      counted("matmul/mm", "4", 6112, kScript), counted("matmul/mm", "4", 1234567, kScriptBackward),
      counted("empty", "", 200)};
  EXPECT_GOLDEN("report/a_row_for_each_variant.txt", table(few, at_width(58)));
  // A name too long for its column is above its row.
  few.back().variant.label = "creation/empty_with_options";
  EXPECT_GOLDEN("report/long_name_above_its_row.txt", table(few, at_width(58)));
}

TEST(ReportTable, NarrowestIsStacked) {
  std::vector<Measurement> few{counted("matmul/mm", "4", 5313),
                               counted("matmul/mm", "4", 1234567, kScriptBackward)};
  EXPECT_GOLDEN("report/narrowest_is_stacked.txt", table(few, at_width(20)));
}

std::vector<std::string> lines_of(const std::string& text) { return wrap(text, 0); }

TEST(ReportTable, FitsEveryWidth) {
  std::vector<Measurement> measurements = all_kinds();
  measurements.push_back(counted("größe/矩阵/a_label_that_is_longer_than_most/of_them", "1", 1e9));
  for (std::size_t width = 20; width < 140; ++width) {
    const std::string text = table(measurements, at_width(width));
    for (const std::string& line : lines_of(text)) {
      // Keys stay whole below the table, to be copied.
      if (line.find("/t1/cpu") == std::string::npos) {
        EXPECT_LE(display_width(line), width) << line;
      }
    }
    for (const char* value : {"5,313", "18,001", "~212", "*112,399.5", "1,000,000,000"}) {
      EXPECT_HAS(text, value) << width << " " << value;
    }
  }
  for (std::size_t width = 1; width < 20; ++width) {
    EXPECT_HAS(table(measurements, at_width(width)), "1,000,000,000");
  }
}

// Without its escape sequences, the coloured table is the plain one.
TEST(ReportTable, ColorsChangeNothingElse) {
  for (const std::size_t width : {0, 20, 60, 80}) {
    ReportOptions options = at_width(width);
    std::string plain = table(all_kinds(), options);
    options.render.color = true;
    std::string colored = table(all_kinds(), options);
    EXPECT_NE(colored, plain);
    std::string stripped;
    for (std::size_t i = 0; i < colored.size(); ++i) {
      if (colored[i] == '\x1b')
        i = colored.find('m', i);
      else
        stripped += colored[i];
    }
    EXPECT_EQ(stripped, plain);
  }
}

// Two measurements of one variant: both are shown.
TEST(ReportTable, LeavesNothingOut) {
  EXPECT_GOLDEN("report/one_variant_measured_thrice.txt",
                table({counted("a", "", 111), counted("a", "", 222), counted("a", "", 333)}));
}

// The names of a row and a column select the measurement there.
TEST(ReportTable, ShowsNamesThatSelect) {
  std::size_t cells = 0;
  const auto measurements = all_kinds();
  const DocumentTable shown = RunTable(measurements, at_width(0), RunTable::Shape::kWide).whole();
  for (const DocumentRow& row : shown.rows) {
    const std::string& full = row.cells.front().text;
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      if (shown.columns[i].span != "instructions" || row.cells[i].text.empty()) continue;
      ++cells;
      for (const std::string& name : {full, row.name}) {
        const std::string& heading = shown.columns[i].heading;
        auto selected = value_of(select(measurements, {.filters = {name + " " + heading}}));
        const Variant& variant = selected.front().variant;
        EXPECT_EQ(name_variant(variant).full, full);
        EXPECT_EQ(name_variant(variant).column, heading);
      }
    }
  }
  EXPECT_EQ(cells, measurements.size());
}

TEST(ReportTable, ShowsKeysOnRequest) {
  ReportOptions options = at_width(0);
  options.show_keys = true;
  const std::vector<Measurement> few{counted("matmul/mm", "4", 5313),
                                     counted("matmul/mm", "4", 17642, kEagerBackward),
                                     unsteady("empty/none", 210, 212)};
  EXPECT_GOLDEN("report/keys.txt", table(few, options));
  EXPECT_GOLDEN("report/keys.md", report(ReportFormat::kMarkdown, few, options));
  for (std::size_t width = 1; width < 120; ++width) {
    options.render.width = width;
    const std::string narrow = table(few, options);
    for (const Measurement& measurement : few) {
      EXPECT_HAS(narrow, "\n" + measurement.variant.key + (width < 80 ? "\n" : " "))
          << width << "\n";
    }
  }
}

TEST(ReportMarkdown, IsOneTable) {
  EXPECT_GOLDEN(
      "report/all_outcomes.md",
      report(ReportFormat::kMarkdown,
             {counted("a|b/c_d", "4", 5313), counted("e", "", 1, kScript), unsteady("f", 10, 12),
              failed("g", FailureKind::kExited, "1 ``` 2"), skipped("h", "<no>")},
             at_width(80)));
  EXPECT_EQ(report(ReportFormat::kMarkdown, {}, at_width(80)), "Nothing was measured.\n");
}

TEST(ReportJson, IsOneDocument) {
  ReportOptions options = at_width(80);
  options.header = make_results_header({{{"libtorch_version", "2.13.0"}}, {}}, {"instr_bench"});
  auto json =
      nlohmann::json::parse(report(ReportFormat::kJson, all_kinds(), options), nullptr, false);
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["schema"], 3);
  EXPECT_EQ(json["fingerprint"]["libtorch_version"], "2.13.0");
  ASSERT_EQ(json["measurements"].size(), 10u);
  EXPECT_EQ(json["measurements"][0]["key"], "matmul/mm/n=4/eager/forward/t1/cpu");
  EXPECT_EQ(json["measurements"][0]["metrics"]["peak_bytes"], 64);
  EXPECT_EQ(json["summary"].dump(),
            R"({"counted":8,"failed":1,"seconds":14.83,"skipped":1,"unsteady":1})");
  EXPECT_EQ(nlohmann::json::parse(report(ReportFormat::kJson, {}, {}))["measurements"].dump(),
            "[]");
  options.is_complete = false;
  EXPECT_EQ(nlohmann::json::parse(report(ReportFormat::kJson, {}, options))["complete"], false);
}

TEST(ReportTable, ShowsRequestedSimulatedMetrics) {
  Measurement simulated = counted("a", "", 10);
  std::get<Counted>(simulated.outcome).metrics["estimated_cycles"] = 1234;
  ReportOptions options = at_width(0);
  options.metrics = {"instructions", "estimated_cycles", "ll_hits"};
  EXPECT_GOLDEN("report/simulated_metrics.txt", table({simulated}, options));
}

TEST(ReportCsv, QuotesWhatNeedsIt) {
  Measurement odd = counted("a,\"b\"", "x\ny", 1234.5);
  std::get<Counted>(odd.outcome).metrics["d1_misses"] = 7;
  std::get<Counted>(odd.outcome).metrics["branches"] = 9;
  odd.verification = Verification{VerificationCode::kFail, "it, differs"};
  EXPECT_GOLDEN(
      "report/quoted.csv",
      report(ReportFormat::kCsv,
             {odd, failed("c", FailureKind::kCrashed, "signal 11, twice"), skipped("d", "why")},
             {}));
}

// --- Lists of variants ---

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
}  // namespace instr::report_test
