#include "core/results/lines_file.h"

#include <gtest/gtest.h>

#include "core/results/results_file.h"
#include "tests/testing.h"

namespace instr::lines_file_test {
namespace {

using namespace testing;

constexpr const char* kHeader = R"({"schema":3,"program":"instr_bench"})";

LineCosts example() {
  return {10, {{"a b.cpp", 3, 120, 200, "f(\"x\");"}, {"a b.cpp", 7, 5, std::nullopt, ""}}};
}

LinesOf parsed(const std::vector<std::string>& texts) {
  const auto file = std::make_shared<SideFile>(kLinesFile, packed(texts), "file", SideLimits{});
  return line_costs_in(file, kHeader, Incomplete::kAllowed);
}

TEST(LinesFile, HasTheDocumentedForm) {
  SideLines lines;
  EXPECT_EQ(next_lines(lines, "k", example()),
            "{\"first\":0,\"names\":[[\"a b.cpp\",\"\"]]}\n"
            "{\"key\":\"k\",\"iterations\":10,\"file\":[0,0],\"line\":[3,7],\"self\":[120,5],"
            "\"inclusive\":[200,null],\"text\":[\"f(\\\"x\\\");\",\"\"]}\n");
}

TEST(LinesFile, RoundTrip) {
  SideLines lines;
  std::vector<std::string> texts{SideLines::start(kLinesFile, kHeader)};
  texts.push_back(next_lines(lines, "a", example()));
  texts.push_back(next_lines(lines, "none", {1, {}}));
  const LinesOf costs = parsed(texts);
  const auto read = costs("a");
  ASSERT_TRUE(read && *read);
  EXPECT_EQ((*read)->iterations, 10U);
  ASSERT_EQ((*read)->lines.size(), 2U);
  EXPECT_EQ((*read)->lines[0].file, "a b.cpp");
  EXPECT_EQ((*read)->lines[0].line, 3);
  EXPECT_EQ((*read)->lines[0].self, 120);
  EXPECT_EQ((*read)->lines[0].inclusive, 200);
  EXPECT_EQ((*read)->lines[0].text, "f(\"x\");");
  EXPECT_FALSE((*read)->lines[1].inclusive);
  EXPECT_TRUE(costs("none").value()->lines.empty());
  EXPECT_EQ(costs("b").value(), nullptr);
}

TEST(LinesFile, DamagedLinesAreErrors) {
  SideLines lines;
  const std::string start = SideLines::start(kLinesFile, kHeader);
  const std::string good = next_lines(lines, "k", example());
  const auto error_of = [&](const std::string& old, const std::string& with) {
    auto costs = parsed({start, replaced(good, old, with)})("k");
    return costs ? "no error" : costs.error().what;
  };
  EXPECT_EQ(error_of("[3,7]", "[3,7]"), "no error");
  for (const auto& [old, with] : std::vector<std::pair<const char*, const char*>>{
           {"[3,7]", "[3]"},
           {"[3,7]", "[3,4294967296]"},
           {"[3,7]", "[3,\"7\"]"},
           {"[0,0]", "[0,1]"},
           {"[120,5]", "[120,-5]"},
           {"[120,5]", "[1e300,5]"},
           {"[200,null]", "[200,false]"},
           {"\"text\":[", "\"words\":["},
           {",\"\"]}", ",0]}"},
           {"\"iterations\":10", "\"iterations\":0"}}) {
    EXPECT_EQ(error_of(old, with), "these costs of lines cannot be read") << with;
  }
}

TEST(LinesFile, IsRemovedWithReplacedResults) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "r.jsonl";
  for (const bool has_lines : {true, false}) {
    Counted counted;
    if (has_lines) counted.lines = std::make_shared<const LineCosts>(example());
    write_results(file, {}, {measured("k", counted)});
    const auto results = value_of(read_results(file));
    const auto lines = line_costs_in(value_of(read_side_file(file, kLinesFile)),
                                     results.header_line, Incomplete::kRefused);
    const auto costs = value_of(lines("k"));
    EXPECT_EQ(costs != nullptr, has_lines);
  }
}

}  // namespace
}  // namespace instr::lines_file_test
