#include "core/results/call_trees_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/results/results_file.h"
#include "core/results/sealed_line.h"
#include "tests/testing.h"

namespace instr::call_trees_file_test {
namespace {

using namespace testing;

constexpr const char* kHeader = R"({"schema":3,"program":"instr_bench"})";

// the snippet, which calls f, which calls itself and code without symbols; and g.
CallTree example() {
  CallTree tree{
      10,
      {{kSnippetName, "unit", true},
       {"f(int)", "liba.so", true},
       code_name("0x1234", "libb.so"),
       code_name("0x1234", "???")},
      {{0, 0, -5, 0, 0}, {1, 0, 100, 0, 10}, {1, 1, 20, 0, 20}, {2, 2, 7, 0, 1}, {3, 0, 3, 0, 0}},
      {"", "a.h:14"}};
  sum_up(tree.nodes);
  return tree;
}

void expect_equal(const CallTree& one, const CallTree& other) {
  EXPECT_EQ(one.iterations, other.iterations);
  ASSERT_EQ(one.nodes.size(), other.nodes.size());
  for (std::size_t i = 0; i < one.nodes.size(); ++i) {
    const CallNode& node = one.nodes[i];
    EXPECT_EQ(one.code_of(node), other.code_of(other.nodes[i])) << i;
    EXPECT_EQ(one.place_of(node.function), other.place_of(other.nodes[i].function)) << i;
    EXPECT_EQ(node.parent, other.nodes[i].parent) << i;
    EXPECT_EQ(node.self, other.nodes[i].self) << i;
    EXPECT_EQ(node.total, other.nodes[i].total) << i;
    EXPECT_EQ(node.calls, other.nodes[i].calls) << i;
  }
}

std::shared_ptr<SideFile> side_file(std::string bytes) {
  return std::make_shared<SideFile>(kCallTreesFile, std::move(bytes), "file", SideLimits{});
}

CallTreesOf parsed(const std::vector<std::string>& texts) {
  return call_trees_in(side_file(packed(texts)), kHeader, Incomplete::kAllowed);
}

TEST(CallTreesFile, HasTheDocumentedForm) {
  SideLines lines;
  EXPECT_EQ(next_call_tree(lines, "k", example()),
            "{\"first\":0,\"names\":[[\"the snippet\",\"unit\"],[\"f(int)\",\"liba.so\"],"
            "[\"\",\"libb.so\"],[\"\",\"\"]]}\n"
            "{\"key\":\"k\",\"iterations\":10,\"function\":[0,1,1,2,3],\"depth\":[0,1,2,3,1],"
            "\"self\":[-5,100,20,7,3],\"calls\":[0,10,20,1,0],\"places\":[[1,\"a.h:14\"]]}\n");
}

TEST(CallTreesFile, RoundTrip) {
  SideLines lines;
  std::vector<std::string> texts{SideLines::start(kCallTreesFile, kHeader)};
  texts.push_back(next_call_tree(lines, "a", example()));
  texts.push_back(next_call_tree(lines, "b", example()));
  const CallTreesOf trees = parsed(texts);
  for (const char* key : {"b", "a"}) {
    const auto tree = value_of(trees(key));
    ASSERT_TRUE(tree);
    expect_equal(*tree, example());
  }
  EXPECT_EQ(trees("c").value(), nullptr);
  const CallTreesOf fresh = parsed(texts);
  for (const CallTreesOf& each : {CallTreesOf(fresh), CallTreesOf(fresh)}) {
    EXPECT_TRUE(each("a")) << "a copy";
  }
}

TEST(CallTreesFile, DamagedTreesAreErrors) {
  SideLines lines;
  const std::string start = SideLines::start(kCallTreesFile, kHeader);
  const std::string good = next_call_tree(lines, "k", example());
  const auto error_of = [&](const std::string& old, const std::string& with) {
    auto tree = parsed({start, replaced(good, old, with)})("k");
    return tree ? "no error" : tree.error().what;
  };
  EXPECT_EQ(error_of("[0,1,2,3,1]", "[0,1,2,3,1]"), "no error");
  for (const auto& [old, with] : std::vector<std::pair<const char*, const char*>>{
           {"[0,1,2,3,1]", "[0,1,3,3,1]"},             // a level is missing
           {"[0,1,2,3,1]", "[0,1,2,3,0]"},             // a second root
           {"[0,1,2,3,1]", "[1,1,2,3,1]"},             // none
           {"[0,1,2,3,1]", "[0,1,2,3]"},               // too short
           {"[0,1,2,3,1]", "[0,1,2,-3,1]"},            //
           {"[0,1,1,2,3]", "[0,1,1,2,4]"},             // no such name
           {"[0,1,1,2,3]", "[1,1,1,2,3]"},             // the root is not the snippet
           {"[-5,100", "[9007199254740993,100"},       // beyond what any run counts
           {"[-5,100", "[-9223372036854775808,100"},   //
           {"[-5,100", "[0.5,100"},                    //
           {"[[1,\"a.h:14\"]]", "[[9,\"a.h:14\"]]"},   // of no function of the tree
           {"[[1,\"a.h:14\"]]", "[[1,14]]"},           //
           {"[[1,\"a.h:14\"]]", "{}"},                 //
           {"\"iterations\":10", "\"iterations\":0"},  //
           {"\"iterations\":10", "\"iterations\":1e30"}}) {
    EXPECT_EQ(error_of(old, with), "these call trees cannot be read") << with;
  }
}

TEST(CallTreesFile, ReportsErrorsAtTheFirstUse) {
  const CallTreesOf trees = call_trees_in(side_file("hello"), kHeader, Incomplete::kRefused);
  EXPECT_FALSE(trees("k"));
  EXPECT_FALSE(trees("k"));
}

TEST(CallTreesFile, IsRemovedWithReplacedResults) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "r.jsonl";
  const ResultsHeader header = make_results_header({}, {"instr_bench"});
  const std::filesystem::path beside = side_path(file, kCallTreesFile);
  for (const bool has_tree : {true, false}) {
    Counted counted;
    if (has_tree) counted.call_tree = std::make_shared<const CallTree>(example());
    write_results(file, header, {measured("k", counted)});
    EXPECT_EQ(std::filesystem::exists(beside), has_tree);
    auto trees = call_trees_in(value_of(read_side_file(file, kCallTreesFile)),
                               sealed(to_line(to_json(header))), Incomplete::kRefused);
    auto tree = value_of(trees("k"));
    ASSERT_EQ(tree != nullptr, has_tree);
    if (has_tree) expect_equal(*tree, example());
  }
  write(beside, "mine");
  EXPECT_FALSE(ResultsTarget::open(file));  // it would be overwritten
}

}  // namespace
}  // namespace instr::call_trees_file_test
