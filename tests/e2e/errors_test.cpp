// The messages for users' mistakes: a place, the problem, what to do; and the exit status.
#include "tests/e2e/tested_program.h"
#include "tests/labels.h"

namespace instr::e2e::errors_test {
namespace {

const RunsUnder kAddressSanitizer("address", "Errors.*");

TEST(Errors, CompilerErrorsAreAtTheTomlLineAndAffectNoOtherVariant) {
  TemporaryFolder folder;
  std::string file = fixture("broken_code.toml").string();
  expect_status(1,
                run({"--definitions=" + file, "--output=" + (folder.path() / "r.jsonl").string()}));
  auto records = read_results(folder.path() / "r.jsonl");
  auto message = [&](const std::string& key) {
    auto& record = records.at(key);
    EXPECT_EQ(record.at("failure").at("kind"), "compile_error") << record.dump(2);
    return record.at("failure").at("message").get<std::string>();
  };
  auto has = [&](const std::string& key, const std::string& words) {
    EXPECT_HAS(message(key), words) << key;
  };
  has("broken/undeclared/eager/forward/t1/cpu", file + ":5:18");
  has("broken/undeclared/eager/forward/t1/cpu", "nowhere");
  has("broken/brace/eager/forward/t1/cpu", file);
  has("broken/closes too much/eager/forward/t1/cpu", file);
  has("broken/multi-line/eager/forward/t1/cpu", file + ":19:");
  has("broken/argument nobody declares/torchscript/forward/t1/cpu", file + ":28:");
  EXPECT_EQ(records.at("broken/not this one/eager/forward/t1/cpu").at("metrics").at("instructions"),
            50);
  // The definition is at fault, in any of its variants.
  has("broken/argument nobody declares/eager/forward/t1/cpu", file + ":28:");
}

TEST(Errors, MistakesOfUsersHaveAPlaceAndStatusTwo) {
  TemporaryFolder folder;
  folder.write("bad.toml", "schema = 1\n[[benchmark]]\nlabel = 7\nstmt = \"1;\"\n");
  for (const auto& [word, message] : std::map<std::string, std::string>{
           {"--definitions=" + (folder.path() / "bad.toml").string(), "bad.toml:3:9: "},
           {"--filtr=matmul", "--filter"},
           {"--filter=matmul/mn/", "matmul/mm"},
           {"--libtorch=/nonexistent", "/nonexistent"},
           {"frobnicate", "frobnicate"}}) {
    auto result = expect_status(2, run({word}));
    EXPECT_EQ(result.output, "") << word;
    EXPECT_HAS(result.errors, message) << word;
  }
}

TEST(Errors, ControlCharactersInNamesAreShownAsCodes) {
  TemporaryFolder folder;
  const std::string name = "red\x1b[31m.toml";
  folder.write(name,
               "schema = 1\n[[benchmark]]\nlabel = \"a\"\nstmt = \"1;\"\n"
               "matrix = { \"n\\u001b[2J\" = [1] }\n");
  const auto refused =
      expect_status(2, run({"list", "--definitions=" + (folder.path() / name).string()}));
  EXPECT_HAS(refused.errors, "red\\x1b[31m.toml:5:");
  EXPECT_HAS(refused.errors, "`n\\x1b[2J` is not a valid parameter name");
  const auto filtered = expect_status(2, run({"list", "--filter=\x1b]0;title\x07"}));
  EXPECT_HAS(filtered.errors, "]0;title");
  for (const auto& said : {refused, filtered}) {
    EXPECT_EQ((said.output + said.errors).find_first_of("\x1b\x07"), std::string::npos);
  }
}

TEST(Errors, WithoutACompilerCppIsLeftOutInOneLine) {
  const std::string nothing = "PATH=/nonexistent";
  const auto both = expect_status(0, run({"--dry-run", "--filter=^matmul/mm/"}, {nothing}));
  EXPECT_HAS(both.errors, "no C++ compiler (Debian: apt-get install clang): ");
  EXPECT_HAS(both.output, "/py/eager/");
  EXPECT_EQ(both.output.find("/n=4/eager/"), std::string::npos) << both.output;
  expect_refused(run({"--filter=^matmul/mm/", "--language=cpp"}, {nothing}),
                 "left out, and no other is selected");
}

TEST(Errors, AValgrindThatIsNoneIsNamed) {
  expect_refused(run({"--filter=^matmul/mm/", "--valgrind=/nonexistent/valgrind"}),
                 "cannot run '/nonexistent/valgrind'");
  expect_refused(run({"--filter=^matmul/mm/"}, {"INSTR_BENCH_VALGRIND=valgrimd"}),
                 "INSTR_BENCH_VALGRIND names `valgrimd`, which is no program");
}

}  // namespace
}  // namespace instr::e2e::errors_test
