// `instr_bench nightly` on three nights.
#include "tests/e2e/quick_library.h"
#include "tests/e2e/tested_program.h"

namespace instr::e2e::nightly_test {
namespace {

class Nightly : public QuickRepositoryTest {};

TEST_F(Nightly, WritesAnIssueThatNamesTheCommit) {
  auto night = [&] { return run({"nightly", "--make=", "main", "--definitions=quick.toml"}); };
  auto first = expect_status(0, night());
  EXPECT_FALSE(fs::exists(file("nightly/issue.md")));
  EXPECT_HAS(first.errors, "the first night: commit ");

  write(file("quick.h"), std::string(kHeader) + "// one\n");
  commit("a comment");
  const std::string slower = commit_slower_code();
  write(file("quick.h"), std::string(kHeader) + "// two\n");
  commit("another comment");
  auto second = expect_status(3, night());
  const std::string issue = text_of(file("nightly/issue.md"));
  const std::string title = issue.substr(0, issue.find('\n'));
  EXPECT_FALSE(has(second.errors, "the first night")) << second.errors;
  EXPECT_HAS(title, "instructions in squares/eager/forward/t1/cpu");
  EXPECT_HAS(title, slower.substr(0, 12) + " (fewer lines)");
  EXPECT_HAS(issue, "<code>quick&#58;&#58;squares(");
  EXPECT_HAS(text_of(file("nightly/index.html")), slower.substr(0, 12));

  EXPECT_HAS(expect_status(0, night()).errors, "no commit since the last time");
  EXPECT_FALSE(fs::exists(file("nightly/issue.md")));
}

}  // namespace
}  // namespace instr::e2e::nightly_test
