#include "core/report/report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/base/format.h"
#include "core/definitions/variant_names.h"
#include "core/report/report_grid.h"
#include "tests/testing.h"

namespace instr::report_test {
namespace {

using namespace testing;

struct Where {
  Runtime runtime = Runtime::kEager;
  Autograd autograd = Autograd::kForward;
  int threads = 1;
};

constexpr Where kEager{};
constexpr Where kEagerBackward{Runtime::kEager, Autograd::kForwardBackward};
constexpr Where kScript{Runtime::kTorchScript, Autograd::kForward};
constexpr Where kScriptBackward{Runtime::kTorchScript, Autograd::kForwardBackward};

std::string key_of(const std::string& label, const std::string& n, const Where& where) {
  return label + (n.empty() ? "" : "/n=" + n) + "/" + to_string(where.runtime) + "/" +
         to_string(where.autograd) + "/t" + std::to_string(where.threads) + "/cpu";
}

// The measurement, as one that took half a second.
Measurement with_seconds(Measurement made) {
  made.seconds = 0.5;
  return made;
}

Measurement counted(const std::string& label, const std::string& n, double ir,
                    const Where& where = kEager) {
  Measurement made =
      testing::counted(key_of(label, n, where),
                       {{"ir", ir}, {"allocs", 3}, {"alloc_bytes", 1920}, {"peak_bytes", 64}});
  std::get<Counted>(made.outcome).gated = where.threads == 1;
  return with_seconds(std::move(made));
}

Measurement unsteady(const std::string& label, double first, double second) {
  Measurement made = counted(label, "", second);
  auto& outcome = std::get<Counted>(made.outcome);
  outcome.steady = false;
  outcome.first_block_ir = first;
  return made;
}

Measurement failed(const std::string& label, FailureKind kind, const std::string& message,
                   const Where& where = kEager) {
  return with_seconds(testing::failed(key_of(label, "", where), kind, message));
}

Measurement skipped(const std::string& label, const std::string& reason) {
  return with_seconds(testing::skipped(key_of(label, "", kEager), reason));
}

ReportOptions at_width(int width) {
  ReportOptions options;
  options.width = width;
  options.seconds = 14.83;
  return options;
}

std::vector<Measurement> all_kinds() {
  return {counted("matmul/mm", "4", 5313),
          counted("matmul/mm", "4", 17642, kEagerBackward),
          counted("matmul/mm", "4", 6112, kScript),
          counted("matmul/mm", "4", 18001, kScriptBackward),
          counted("matmul/mm", "64", 112313),
          counted("matmul/mm", "64", 112399.5, {Runtime::kEager, Autograd::kForward, 2}),
          unsteady("empty/none", 210, 212),
          failed("nn/LSTM", FailureKind::kCrashed, "signal 11"),
          counted("nn/LSTM", "", 44123, kEagerBackward),
          skipped("attention/sdpa", "needs LibTorch >=2.0")};
}

TEST(ReportTable, ShowsVariantsSideBySide) {
  EXPECT_EQ(report_table(all_kinds(), at_width(0)),
            R"(                ─────────────── instructions ────────────────  ─── eager ───
                              eager               TorchScript
                     eager  fwd+bwd  TorchScript      fwd+bwd  allocs  bytes  steady
────────────────────────────────────────────────────────────────────────────────────
matmul
  mm n=4             5,313   17,642        6,112       18,001       3  1,920     yes
  mm n=64          112,313                                          3  1,920     yes
  mm n=64 t2    *112,399.5                                          3  1,920     yes

empty/none            ~212                                          3  1,920      no
nn/LSTM             failed   44,123                                              yes
attention/sdpa     skipped

~ not steady: two blocks of iterations had different counts
* not gated: more than one thread or torch.compile(): the count depends on scheduling or compiling

not steady: empty/none/eager/forward/t1/cpu: 210, then 212

nn/LSTM/eager/forward/t1/cpu: crashed
    signal 11

1 skipped: needs LibTorch >=2.0

8 counted, 1 of them not steady; 1 skipped; 1 failed; 14.8 s
)");
}

TEST(ReportTable, NothingMeasured) {
  EXPECT_EQ(report_table({}, at_width(80)), "nothing was measured\n");
}

TEST(ReportTable, OneVariantIsOneLine) {
  ReportOptions options = at_width(80);
  options.seconds.reset();
  EXPECT_EQ(report_table({counted("matmul/mm", "64", 112313)}, options),
            R"(                instructions
                       eager  allocs  bytes  steady
───────────────────────────────────────────────────
matmul/mm n=64       112,313       3  1,920     yes

1 counted; 0.5 s of measuring
)");
}

TEST(ReportTable, ShowsTheRequestedMetrics) {
  ReportOptions options = at_width(80);
  options.metrics = {"allocs", "peak_bytes"};
  EXPECT_EQ(report_table({unsteady("a", 1, 2)}, options),
            R"(            peak
   allocs  bytes  steady
────────────────────────
a       3     64      no

not steady: a/eager/forward/t1/cpu: 1, then 2

1 counted, 1 of them not steady; 14.8 s
)");
}

Measurement with_allocs(Measurement made, double allocs) {
  std::get<Counted>(made.outcome).metrics["allocs"] = allocs;
  return made;
}

TEST(ReportTable, SaysWhoseTheOtherMetricsAre) {
  ReportOptions options = at_width(0);
  options.metrics = {"ir", "allocs"};
  const Measurement eager = with_allocs(counted("a", "", 1), 4);
  const Measurement script = with_allocs(counted("a", "", 2, kScript), 7);
  const Measurement other = with_allocs(counted("b", "", 3, kScriptBackward), 9);
  const auto heading = [&options](const std::vector<Measurement>& measurements) {
    const std::string table = report_table(measurements, options);
    return table.substr(0, table.find("\n\n"));
  };
  EXPECT_EQ(heading({eager, script}), R"(   ── instructions ──   eager
   eager  TorchScript  allocs  steady
─────────────────────────────────────
a      1            2       4     yes)");
  // If the rows' first variants differ, both are shown.
  EXPECT_EQ(heading({eager, script, other}),
            R"(   ──────── instructions ─────────   eager  TorchScript fwd+bwd
                       TorchScript
   eager  TorchScript      fwd+bwd  allocs               allocs  steady
───────────────────────────────────────────────────────────────────────
a      1            2                    4                          yes
b                                3                            9     yes)");
  // Nothing replaces the others if instructions are not requested.
  options.metrics = {"allocs"};
  EXPECT_EQ(heading({eager, script, failed("b", FailureKind::kCrashed, "")}),
            R"(    eager  TorchScript
   allocs       allocs  steady
──────────────────────────────
a       4            7     yes
b  failed)");
}

TEST(ReportTable, SaysHowManyOfARowAreSteady) {
  Measurement unsteady_one = counted("a", "", 2, kScript);
  std::get<Counted>(unsteady_one.outcome).steady = false;
  const std::string table = report_table({counted("a", "", 1), unsteady_one}, at_width(0));
  EXPECT_NE(table.find("1,920  1 of 2\n"), std::string::npos) << table;
}

// In the order of the measurements; a group of several rows gets a heading.
TEST(ReportTable, GroupsByLabel) {
  std::string table =
      report_table({counted("b/x", "", 1), counted("a/z", "", 2), counted("b/y", "", 3),
                    counted("alone", "1", 4), counted("alone", "2", 5)},
                   at_width(0));
  EXPECT_EQ(table, R"(       instructions
              eager  allocs  bytes  steady
──────────────────────────────────────────
b
  x               1       3  1,920     yes
  y               3       3  1,920     yes

a/z               2       3  1,920     yes

alone
  n=1             4       3  1,920     yes
  n=2             5       3  1,920     yes

5 counted; 14.8 s
)");
}

TEST(ReportTable, AColumnInWhichAllWereSkippedIsLeftOut) {
  const Where script{Runtime::kTorchScript, Autograd::kForward};
  Measurement without = counted("nn/a", "", 7, script);
  without.outcome = Skipped{"no Python"};
  std::string table = report_table({counted("nn/a", "", 5), without}, at_width(0));
  EXPECT_EQ(table, R"(      instructions
             eager  allocs  bytes  steady
─────────────────────────────────────────
nn/a             5       3  1,920     yes

1 skipped: no Python

1 counted; 1 skipped; 14.8 s
)");
  // Unless a row has no other: "nn/b" here.
  Measurement alone = without;
  alone.variant.label = "nn/b";
  table = report_table({counted("nn/a", "", 5), without, alone}, at_width(0));
  EXPECT_EQ(table, R"(     ── instructions ──  ─── eager ───    TorchScript
     eager  TorchScript  allocs  bytes  allocs  bytes  steady
─────────────────────────────────────────────────────────────
nn
  a      5      skipped       3  1,920                    yes
  b             skipped

2 skipped: no Python

1 counted; 2 skipped; 14.8 s
)");
}

TEST(ReportTable, ListsFailuresWithTheirMessages) {
  std::string table = report_table(
      {failed("nn/a", FailureKind::kCompileError, "one:1:2: error\n  two\n"),
       failed("nn/a", FailureKind::kCompileError, "one:1:2: error\n  two\n", kEagerBackward),
       failed("nn/b", FailureKind::kException, ""),
       failed("nn/c", FailureKind::kUnsupported, "no CUDA"), skipped("nn/d", "no CUDA")},
      at_width(0));
  EXPECT_EQ(table.substr(table.find("nn\n")), R"(nn
  a   failed   failed
  b   failed
  c  skipped
  d  skipped

nn/a/eager/forward/t1/cpu
nn/a/eager/forward_backward/t1/cpu: compile_error
    one:1:2: error
      two

nn/b/eager/forward/t1/cpu: exception

2 skipped: no CUDA

0 counted; 2 skipped; 3 failed; 14.8 s
)");
}

TEST(ReportTable, CutsEndlessMessages) {
  std::string message;
  for (int i = 0; i < 1000; ++i) message += "line " + std::to_string(i) + "\n";
  std::string table = report_table({failed("a", FailureKind::kCompileError, message)}, at_width(0));
  EXPECT_NE(table.find("line 38\n    (and 961 more lines)\n"), std::string::npos);
  EXPECT_EQ(table.find("line 39"), std::string::npos);
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
  std::string table = report_table(all_kinds(), at_width(80));
  EXPECT_EQ(table.find("  steady\n"), std::string::npos);
  EXPECT_NE(table.find("  mm n=4             5,313   17,642        6,112       18,001       3  "
                       "1,920\n"),
            std::string::npos);
}

TEST(ReportTable, NarrowerHasARowForEachVariant) {
  std::vector<Measurement> few{
      counted("matmul/mm", "4", 5313), counted("matmul/mm", "4", 17642, kEagerBackward),
      counted("matmul/mm", "4", 6112, kScript), counted("matmul/mm", "4", 1234567, kScriptBackward),
      counted("empty", "", 200)};
  EXPECT_EQ(report_table(few, at_width(58)),
            R"(                       instructions  allocs  bytes  steady
──────────────────────────────────────────────────────────
matmul/mm n=4
  eager                       5,313       3  1,920     yes
  eager fwd+bwd              17,642       3  1,920     yes
  TorchScript                 6,112       3  1,920     yes
  TorchScript fwd+bwd     1,234,567       3  1,920     yes

empty eager                     200       3  1,920     yes

5 counted; 14.8 s
)");
  // A name too long for its column is above its row.
  few.back().variant.label = "creation/empty_with_options";
  std::string table = report_table(few, at_width(58));
  EXPECT_NE(table.find("\ncreation/empty_with_options\n  eager                         200 "),
            std::string::npos)
      << table;
}

TEST(ReportTable, NarrowestIsStacked) {
  std::vector<Measurement> few{counted("matmul/mm", "4", 5313),
                               counted("matmul/mm", "4", 1234567, kScriptBackward)};
  EXPECT_EQ(report_table(few, at_width(20)), R"(instructions per
iteration, by
variant:

matmul/mm n=4
  eager        5,313
  TorchScript fwd+b…
           1,234,567
  eager allocs     3
  eager bytes  1,920

2 counted; 14.8 s
)");
}

std::vector<std::string> lines_of(const std::string& text) { return wrap(text, 0); }

TEST(ReportTable, FitsEveryWidth) {
  std::vector<Measurement> measurements = all_kinds();
  measurements.push_back(counted("größe/矩阵/a_label_that_is_longer_than_most/of_them", "1", 1e9));
  for (int width = 20; width < 140; ++width) {
    std::string table = report_table(measurements, at_width(width));
    for (const std::string& line : lines_of(table)) {
      // Keys stay whole below the table, to be copied.
      if (line.find("/t1/cpu") == std::string::npos) {
        EXPECT_LE(display_width(line), static_cast<std::size_t>(width)) << line;
      }
    }
    for (const char* value : {"5,313", "18,001", "~212", "*112,399.5", "1,000,000,000"}) {
      EXPECT_NE(table.find(value), std::string::npos) << width << " " << value;
    }
  }
  for (int width = 1; width < 20; ++width) {
    EXPECT_NE(report_table(measurements, at_width(width)).find("1,000,000,000"), std::string::npos);
  }
}

TEST(ReportTable, NoTrailingSpaces) {
  for (int width : {0, 1, 20, 44, 60, 80, 120}) {
    EXPECT_EQ(report_table(all_kinds(), at_width(width)).find(" \n"), std::string::npos) << width;
  }
}

// Without its escape sequences, the coloured table is the plain one.
TEST(ReportTable, ColorsChangeNothingElse) {
  for (int width : {0, 20, 60, 80}) {
    ReportOptions options = at_width(width);
    std::string plain = report_table(all_kinds(), options);
    options.color = true;
    std::string colored = report_table(all_kinds(), options);
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
  std::string table = report_table(
      {counted("a", "", 111), counted("a", "", 222), counted("a", "", 333)}, at_width(0));
  for (const char* value : {"111", "222", "333"}) {
    EXPECT_NE(table.find(value), std::string::npos) << value;
  }
}

// The names of a row and a column select the measurement there.
TEST(ReportTable, ShowsNamesThatSelect) {
  std::size_t cells = 0;
  const auto measurements = all_kinds();
  const Grid grid = make_grid(measurements, at_width(0));
  for (const GridGroup& group : grid.groups) {
    for (const GridRow& row : group.rows) {
      for (std::size_t i = 0; i < row.cells.size(); ++i) {
        if (grid.columns[i].span != "instructions" || row.cells[i].text.empty()) continue;
        ++cells;
        for (const std::string& name : {row.full_name, row.name}) {
          auto found = select(measurements, {.filters = {name + " " + grid.columns[i].heading}});
          ASSERT_TRUE(found) << to_string(found.error());
          const Variant& one = found->front().variant;
          EXPECT_EQ(name_of(one).full, row.full_name);
          EXPECT_EQ(name_of(one).column, grid.columns[i].heading);
        }
      }
    }
  }
  EXPECT_EQ(cells, measurements.size());
}

TEST(ReportTable, ShowsWhatTheBindingCostsOnRequest) {
  ReportOptions options = at_width(0);
  options.show_binding = true;
  options.metrics = {"ir"};
  const auto in_python = [](Measurement one) {
    one.variant.language = Language::kPython;
    return one;
  };
  const std::vector<Measurement> both{counted("relu", "", 4832),
                                      in_python(counted("relu", "", 8053)), counted("mm", "", 5313),
                                      in_python(counted("abs", "", 9000))};
  const std::string table = report_table(both, options);
  EXPECT_EQ(table.substr(0, table.find("\n\n")), R"(      ─── instructions ────
                     Python
      eager  Python   - C++  steady
───────────────────────────────────
relu  4,832   8,053   3,221     yes
mm    5,313                     yes
abs           9,000             yes)");
  // In a narrow one it is a line of its own.
  options.width = 24;
  EXPECT_NE(report_table(both, options).find("Python - C++"), std::string::npos);
}

TEST(ReportTable, ShowsKeysOnRequest) {
  ReportOptions options = at_width(0);
  options.show_keys = true;
  const std::vector<Measurement> few{counted("matmul/mm", "4", 5313),
                                     counted("matmul/mm", "4", 17642, kEagerBackward),
                                     unsteady("empty/none", 210, 212)};
  const std::string table = report_table(few, options);
  EXPECT_EQ(table.substr(0, table.find("\n\n")),
            R"(                                             instructions  allocs  bytes  steady
────────────────────────────────────────────────────────────────────────────────
matmul/mm/n=4/eager/forward/t1/cpu                  5,313       3  1,920     yes
matmul/mm/n=4/eager/forward_backward/t1/cpu        17,642       3  1,920     yes
empty/none/eager/forward/t1/cpu                      ~212       3  1,920      no)");
  for (int width = 1; width < 120; ++width) {
    options.width = width;
    const std::string narrow = report_table(few, options);
    for (const Measurement& one : few) {
      EXPECT_NE(narrow.find("\n" + one.variant.key + (width < 80 ? "\n" : " ")), std::string::npos)
          << width << "\n"
          << narrow;
    }
  }
  EXPECT_NE(
      report_markdown(few, options).find("| matmul/mm/n=4/eager/forward/t1/cpu | 5,313 | 3 |"),
      std::string::npos)
      << report_markdown(few, options);
}

TEST(ReportMarkdown, IsOneTable) {
  EXPECT_EQ(report_markdown(
                {counted("a|b/c_d", "4", 5313), counted("e", "", 1, kScript), unsteady("f", 10, 12),
                 failed("g", FailureKind::kExited, "1 ``` 2"), skipped("h", "<no>")},
                at_width(80)),
            R"(Instructions per iteration:

| benchmark | eager | TorchScript | eager allocs | eager bytes | TorchScript allocs | TorchScript bytes | steady |
|:---|---:|---:|---:|---:|---:|---:|---:|
| a\|b/c\_d n=4 | 5,313 | | 3 | 1,920 | | | yes |
| e | | 1 | | | 3 | 1,920 | yes |
| f | \~12 | | 3 | 1,920 | | | no |
| g | failed | | | | | | |
| h | skipped | | | | | | |

\~ not steady: two blocks of iterations had different counts

Not steady:

- f/eager/forward/t1/cpu: 10, then 12

- g/eager/forward/t1/cpu: **exited**

````
1 ``` 2
````

- 1 skipped: \<no\>

3 counted, 1 of them not steady; 1 skipped; 1 failed; 14.8 s
)");
  EXPECT_EQ(report_markdown({}, at_width(80)), "Nothing was measured.\n");
}

TEST(ReportJson, IsOneDocument) {
  ReportOptions options = at_width(80);
  options.header = make_results_header({{{"libtorch_version", "2.13.0"}}, {}}, {"instr_bench"});
  auto json = nlohmann::json::parse(report_json(all_kinds(), options), nullptr, false);
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["schema"], 2);
  EXPECT_EQ(json["fingerprint"]["libtorch_version"], "2.13.0");
  ASSERT_EQ(json["measurements"].size(), 10u);
  EXPECT_EQ(json["measurements"][0]["key"], "matmul/mm/n=4/eager/forward/t1/cpu");
  EXPECT_EQ(json["measurements"][0]["metrics"]["peak_bytes"], 64);
  EXPECT_EQ(json["summary"].dump(),
            R"({"counted":8,"failed":1,"seconds":14.83,"skipped":1,"unsteady":1})");
  EXPECT_EQ(nlohmann::json::parse(report_json({}, {}))["measurements"].dump(), "[]");
}

TEST(ReportJsonl, IsAResultsFile) {
  ReportOptions options = at_width(80);
  options.header = make_results_header({{{"libtorch_version", "2.13.0"}}, {}}, {"instr_bench"});
  auto results = parse_results(report_jsonl(all_kinds(), options), "-", Incomplete::kAllowed);
  ASSERT_TRUE(results) << to_string(results.error());
  EXPECT_EQ(results->header.fingerprint.get("libtorch_version"), "2.13.0");
  EXPECT_EQ(results->measurements.size(), 10u);
  EXPECT_TRUE(results->is_complete);
  // Of a run that was interrupted.
  options.is_complete = false;
  EXPECT_FALSE(
      parse_results(report_jsonl(all_kinds(), options), "-", Incomplete::kAllowed)->is_complete);
  EXPECT_EQ(nlohmann::json::parse(report_json({}, options))["complete"], false);
}

TEST(ReportTable, ShowsRequestedSimulatedMetrics) {
  Measurement simulated = counted("a", "", 10);
  std::get<Counted>(simulated.outcome).metrics["estimated_cycles"] = 1234;
  ReportOptions options = at_width(0);
  options.metrics = {"ir", "estimated_cycles", "ll_hits"};
  std::string text = report_table({simulated}, options);
  EXPECT_NE(text.find("cycles"), std::string::npos) << text;
  EXPECT_NE(text.find("1,234"), std::string::npos) << text;
  EXPECT_EQ(text.find('_'), std::string::npos) << text;
  EXPECT_NE(text.find("ll"), std::string::npos) << text;
}

TEST(ReportCsv, QuotesWhatNeedsIt) {
  Measurement odd = counted("a,\"b\"", "x\ny", 1234.5);
  std::get<Counted>(odd.outcome).metrics["d1_misses"] = 7;
  std::get<Counted>(odd.outcome).metrics["branches"] = 9;
  odd.verification = Verification{VerificationCode::kFail, "it, differs"};
  EXPECT_EQ(
      report_csv({odd, failed("c", FailureKind::kCrashed, "signal 11, twice"), skipped("d", "why")},
                 {}),
      "key,label,params,language,runtime,autograd,threads,device,outcome,ir,allocs,alloc_bytes,"
      "peak_bytes,d1_misses,branches,iterations,steady,first_block_ir,second_block_ir,gated,"
      "seconds,"
      "failure_kind,message,verification,verification_reason\r\n"
      "\"a,\"\"b\"\"/n=x\ny/eager/forward/t1/cpu\",\"a,\"\"b\"\"\",\"n=x\ny\",cpp,eager,forward,1,"
      "cpu,counted,1234.5,3,1920,64,7,9,20,true,1234.5,1234.5,true,0.5,,,FAIL,\"it, differs\"\r\n"
      "c/eager/forward/t1/cpu,c,,cpp,eager,forward,1,cpu,failed,,,,,,,,,,,,0.5,crashed,"
      "\"signal 11, twice\",,\r\n"
      "d/eager/forward/t1/cpu,d,,cpp,eager,forward,1,cpu,skipped,,,,,,,,,,,,0.5,,why,,\r\n");
}

}  // namespace
}  // namespace instr::report_test
