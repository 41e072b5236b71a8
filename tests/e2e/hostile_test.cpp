// Snippets that throw, crash, hang, fork: each is a failure of its own, and affects no other
// snippet.
#include "tests/e2e/tested_program.h"
#include "tests/labels.h"

namespace instr::e2e::hostile_test {
namespace {

const RunsUnder kAddressSanitizer("address", "Hostile.*");
const RunsUnder kNewestLibtorch("newest", "Hostile.*");

class Hostile : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    TemporaryFolder folder;
    make_unreadable_library(folder.path());
    result_ = run({"--definitions=" + fixture("hostile.toml").string(),
                   "--definitions=" + (folder.path() / "unreadable.toml").string(),
                   "--output=" + (folder.path() / "results.jsonl").string()});
    records_ = read_results(folder.path() / "results.jsonl");
  }

  // DWARF 5 in sections that Valgrind 3.19 cannot read.
  static void make_unreadable_library(const fs::path& folder) {
    write(folder / "pair.h", "struct Pair { int first, second; };\nint sum(Pair pair);\n");
    write(folder / "pair.cpp",
          "#include \"pair.h\"\nint sum(Pair pair) { return pair.first + pair.second; }\n");
    write(folder / "unreadable.toml", R"(schema = 1
[build]
include_dirs = ["."]
library_dirs = ["."]
libraries = ["pair"]
[[benchmark]]
label = "hostile/unreadable"
global_setup = '#include "pair.h"'
stmt = "sum({1, 2});"
)");
    const auto built = run_command(
        {.argv = {"clang++-14", "-g", "-gdwarf-5", "-fdebug-types-section", "-shared", "-fPIC",
                  (folder / "pair.cpp").string(), "-o", (folder / "libpair.so").string()}});
    can_make_unreadable_ = built && built->exit_code == 0;
  }

  static nlohmann::json record(const std::string& label, const std::string& rest) {
    auto found = records_.find("hostile/" + label + "/" + rest);
    if (found == records_.end())
      ADD_FAILURE() << "no record of " << label << "\n" << result_.errors;
    return found == records_.end() ? nlohmann::json() : found->second;
  }
  static std::string failure(const std::string& label,
                             const std::string& rest = "eager/forward/t1/cpu") {
    auto found = record(label, rest);
    if (found.is_null() || !found.contains("failure")) return "none: " + found.dump();
    return found.at("failure").at("kind");
  }
  static std::string message(const std::string& label,
                             const std::string& rest = "eager/forward/t1/cpu") {
    auto found = record(label, rest);
    return found.contains("failure") ? found.at("failure").at("message").get<std::string>() : "";
  }
  static void expect_fifty(const std::string& label) {
    auto found = record(label, "eager/forward/t1/cpu");
    ASSERT_EQ(found.value("outcome", ""), "counted") << found.dump(2);
    EXPECT_EQ(found.at("metrics").at("instructions"), 50) << found.dump(2);
  }

  static inline bool can_make_unreadable_ = false;
  static inline CommandResult result_;
  static inline Records records_;
};

TEST_F(Hostile, ExitsWithOne) { EXPECT_EQ(result_.exit_code, 1) << result_.errors; }

TEST_F(Hostile, OthersAreUnharmed) {
  expect_fifty("good first");
  expect_fifty("good last");
}

// The message has the place in the file and the part of the benchmark.
TEST_F(Hostile, FailuresAreAtTheirTextInTheToml) {
  const std::string file = fixture("hostile.toml").string();
  const auto begins = [&file](const std::string& label, const std::string& words,
                              const std::string& rest = "eager/forward/t1/cpu") {
    EXPECT_EQ(message(label, rest).find(file + words), 0U) << message(label, rest);
  };
  begins("throws", ":18:9: in the statement: the snippet's own words");
  begins("torch error", ":27:9: in the statement: ");
  begins("segfault", ":31:9: in the statement: ");
  begins("exit in setup", ":43:10: in the setup: ");
  begins("loops",
         ":49:9: in the statement: stopped after 2 s of CPU time: raise the benchmark's own "
         "`timeout` (" +
             file + ":46:1)");
  begins("sleeps in setup", ":54:10: in the setup: stopped after being idle for 2 s: raise ");
  begins("bad script", ":169:20: the TorchScript text cannot be used",
         "torchscript/forward/t1/cpu");
}

TEST_F(Hostile, UnloadableLibrariesAreReportedWithValgrindsMessage) {
  if (!can_make_unreadable_)
    GTEST_SKIP() << "clang++-14 writes DWARF that Valgrind 3.19 cannot read";
  auto found = record("unreadable", "eager/forward/t1/cpu");
  bool can_read = program_output({"valgrind", "--version"}) != "valgrind-3.19.0\n";
  if (can_read && found.value("outcome", "") == "counted") return;
  EXPECT_EQ(failure("unreadable"), "crashed");
  EXPECT_HAS(message("unreadable"), "debuginfo reader") << found.dump(2);
  EXPECT_HAS(message("unreadable"), "-gdwarf-4") << found.dump(2);
}

TEST_F(Hostile, LoadingAUnitHasATimeLimit) {
  EXPECT_EQ(failure("constructor hangs"), "timed_out");
  EXPECT_HAS(message("constructor hangs"), "constructor");
}

TEST_F(Hostile, AConstructorCannotFillTheDisk) {
  EXPECT_EQ(failure("constructor prints for ever"), "crashed");
}

TEST_F(Hostile, SnippetOutputIsNotTakenForAReply) {
  expect_fifty("constructor writes to the worker's descriptor");
  EXPECT_EQ(failure("constructor writes to all descriptors"), "crashed");
}

TEST_F(Hostile, RelativePathsDoNotLeadIntoTheCache) {
  expect_fifty("leaves files");
  EXPECT_EQ(left_in_cache("left_here"), std::vector<fs::path>{});
}

TEST_F(Hostile, RudeButMeasurable) {
  expect_fifty("closes descriptors");
  expect_fifty("writes");
  expect_fifty("forks");
  expect_fifty("daemon");
  EXPECT_EQ(result_.output.find("hello from the snippet"), std::string::npos);
}

TEST_F(Hostile, AThreadLeftBehindIsAlwaysReported) {
  EXPECT_EQ(failure("leaves a thread"), "definition_error");
  EXPECT_HAS(message("leaves a thread"), "another thread is alive");
}

TEST_F(Hostile, AutogradMistakesAreTheDefinitions) {
  EXPECT_EQ(failure("not differentiable", "eager/forward_backward/t1/cpu"), "definition_error");
  EXPECT_EQ(failure("not a scalar", "eager/forward_backward/t1/cpu"), "definition_error");
  EXPECT_HAS(message("not a scalar", "eager/forward_backward/t1/cpu"), "reduce");
  EXPECT_EQ(record("not a scalar", "eager/forward/t1/cpu").value("outcome", ""), "counted");
}

TEST_F(Hostile, NothingIsLeftBehind) { EXPECT_TRUE(stray_processes().empty()); }

}  // namespace
}  // namespace instr::e2e::hostile_test
