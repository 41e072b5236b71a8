// The messages for users' mistakes: a place, the problem, what to do; and the exit status.
#include "tests/e2e/program.h"
#include "tests/labels.h"

namespace instr::e2e::errors_test {
namespace {

const RunsUnder kAddressSanitizer("address", "Errors.*");

TEST(Errors, CompilerErrorsComeBackAtTheTomlLineAndCostOnlyTheirVariant) {
  TemporaryFolder folder;
  std::string file = fixture("broken_code.toml").string();
  auto result = run({"--definitions=" + file, "--output=" + (folder.path() / "r.jsonl").string()});
  EXPECT_EQ(result.exit_code, 1) << result.errors;
  auto records = read_results(folder.path() / "r.jsonl");
  auto message = [&](const std::string& key) {
    auto& record = records.at(key);
    EXPECT_EQ(record.at("failure").at("kind"), "compile_error") << record.dump(2);
    return record.at("failure").at("message").get<std::string>();
  };
  auto has = [&](const std::string& key, const std::string& words) {
    std::string text = message(key);
    EXPECT_NE(text.find(words), std::string::npos) << key << ": " << text;
  };
  has("broken/undeclared/eager/forward/t1/cpu", file + ":5:18");
  has("broken/undeclared/eager/forward/t1/cpu", "nowhere");
  has("broken/brace/eager/forward/t1/cpu", file);
  has("broken/closes too much/eager/forward/t1/cpu", file);
  has("broken/multi-line/eager/forward/t1/cpu", file + ":19:");
  has("broken/argument nobody declares/torchscript/forward/t1/cpu", file + ":28:");
  EXPECT_EQ(records.at("broken/not this one/eager/forward/t1/cpu").at("metrics").at("ir"), 50);
  // The definition is at fault, in any of its variants.
  has("broken/argument nobody declares/eager/forward/t1/cpu", file + ":28:");
}

struct BadFile {
  std::string text;
  std::vector<std::string> words;
};

TEST(Errors, BadDefinitionsAreShownWithTheirPlaceAndExitTwo) {
  TemporaryFolder folder;
  std::vector<BadFile> files = {
      {"schema = 1\n[[benchmark]\n", {":2:"}},
      {"schema = 1\n[[benchmark]]\nlabel = \"a\"\nstmnt = \"1;\"\n", {":4:1", "stmt"}},
      {"schema = 1\n[[benchmark]]\nlabel = 7\nstmt = \"1;\"\n", {":3:9"}},
      {"schema = 1\n[[benchmark]]\nlabel = \"a\"\nstmt = \"1;\"\n[[benchmark]]\nlabel = "
       "\"a\"\nstmt = \"1;\"\n",
       {":5:", ":2:"}},
      {"schema = 1\n[[benchmark]]\nlabel = \"a\"\nstmt = \"1;\"\nstmt = \"2;\"\n", {":5:"}},
      {"schema = 99\n", {":1:10", "update instr_bench"}},
      {std::string("\x7f"
                   "ELF\0\1\2\xff\xfe",
                   9),
       {"bad.toml"}},
  };
  for (const auto& bad : files) {
    write(folder.path() / "bad.toml", bad.text);
    auto result = run({"--definitions=" + (folder.path() / "bad.toml").string()});
    EXPECT_EQ(result.exit_code, 2) << bad.text;
    EXPECT_TRUE(result.output.empty()) << result.output;
    for (const auto& words : bad.words) {
      EXPECT_NE(result.errors.find(words), std::string::npos) << bad.text << result.errors;
    }
  }
}

TEST(Errors, AMatrixThatExplodesIsRefused) {
  TemporaryFolder folder;
  std::string values = "[0";
  for (int i = 1; i < 3200; ++i) values += "," + std::to_string(i);
  values += "]";
  write(folder.path() / "m.toml",
        "schema = 1\n[[benchmark]]\nlabel = \"a\"\nstmt = \"{n}+{m};\"\n"
        "matrix = { n = " +
            values + ", m = " + values + " }\n");
  auto result = run({"--definitions=" + (folder.path() / "m.toml").string()});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.errors.find("m.toml:5:"), std::string::npos) << result.errors;
}

TEST(Errors, IncludeCycleNamesTheChain) {
  TemporaryFolder folder;
  write(folder.path() / "a.toml", "schema = 1\ninclude = [\"b.toml\"]\n");
  write(folder.path() / "b.toml", "schema = 1\ninclude = [\"a.toml\"]\n");
  auto result = run({"--definitions=" + (folder.path() / "a.toml").string()});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.errors.find("a.toml"), std::string::npos) << result.errors;
  EXPECT_NE(result.errors.find("b.toml"), std::string::npos) << result.errors;
}

TEST(Errors, WrongFlagsNameTheNearestAndExitTwo) {
  auto result = run({"--filtr=matmul"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.errors.find("--filter"), std::string::npos) << result.errors;
  EXPECT_EQ(run({"--jobs=0"}).exit_code, 2);
  EXPECT_EQ(run({"--format=tabel"}).exit_code, 2);
  EXPECT_EQ(run({"frobnicate"}).exit_code, 2);
}

TEST(Errors, AFilterThatMatchesNothingNamesNearMatches) {
  auto result = run({"--filter=matmul/mn/"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.errors.find("matmul/mm"), std::string::npos) << result.errors;
  auto broken = run({"--filter=(matmul|conv"});
  EXPECT_EQ(broken.exit_code, 2);
  EXPECT_NE(broken.errors.find("not a valid regular expression"), std::string::npos)
      << broken.errors;
}

TEST(Errors, NoLibTorchWhereOneWasNamed) {
  auto result = run({"--libtorch=/nonexistent", "--filter=^Reduction/sum/"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.errors.find("/nonexistent"), std::string::npos) << result.errors;
}

TEST(Errors, AFullDiskIsReportedAndFails) {
  auto result = run({"--definitions=" + fixture("known.toml").string(), "--filter=nops/n=100",
                     "--output=/dev/full"});
  EXPECT_NE(result.exit_code, 0);
  EXPECT_NE(result.errors.find("/dev/full"), std::string::npos) << result.errors;
}

TEST(Errors, AMissingFolderForResultsIsReportedBeforeMeasuring) {
  auto result = run({"--definitions=" + fixture("known.toml").string(), "--filter=nops/n=100",
                     "--output=/nonexistent/folder/r.jsonl"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.errors.find("/nonexistent/folder: there is no such folder"), std::string::npos)
      << result.errors;
  EXPECT_EQ(result.output, "");
}

TEST(Errors, HelpAndVersionGoToStandardOutput) {
  auto help = run({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_NE(help.output.find("--filter"), std::string::npos);
  auto version = run({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_NE(version.output.find("instr_bench"), std::string::npos);
}

}  // namespace
}  // namespace instr::e2e::errors_test
