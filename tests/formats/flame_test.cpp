// Call trees for other programs, read as these do.
#include "core/report/flame.h"

#include <sstream>

#include "core/results/call_trees_file.h"
#include "core/results/results.h"
#include "tests/formats/consumers.h"
#include "tests/formats/hostile.h"

namespace instr::formats::flame_test {
namespace {

class FlameFormats : public ConsumerTest {
 protected:
  // Of a real measurement.
  static CallTree recorded() {
    const fs::path file = fs::path(INSTR_SOURCE_DIR) / "tests/fixtures/pages/after.jsonl";
    auto results = read_results(file);
    EXPECT_TRUE(results) << to_string(results.error());
    auto trees = open_call_trees(file, results->header_line, Incomplete::kRefused);
    EXPECT_TRUE(trees) << to_string(trees.error());
    auto tree = (*trees)(results->measurements.at(0).variant.key);
    EXPECT_TRUE(tree && *tree);
    return **tree;
  }

  // The snippet calls a function with each of the texts as its name.
  static CallTree hostile() {
    CallTree tree{3, {{kSnippetName, "", true}}, {{0, 0, -1, 0, 0}}};
    for (const std::string& text : hostile_texts()) {
      tree.nodes.push_back({tree.functions.size(), 0, 7, 0, 1});
      tree.functions.push_back({text, text, true});
    }
    sum_up(tree.nodes);
    return tree;
  }

  // What folded_stacks() says, which tests/e2e compares with plain profiles.
  static std::map<std::string, double> folded(const CallTree& tree) {
    std::map<std::string, double> costs;
    std::istringstream lines(folded_stacks(tree, "k"));
    for (std::string line; std::getline(lines, line);) {
      const std::size_t end = line.rfind(' ');
      costs[line.substr(0, end)] += std::stod(line.substr(end));
    }
    return costs;
  }

  static void expect_equal(const json& read, const CallTree& tree) {
    std::map<std::string, double> expected = folded(tree);
    std::erase_if(expected, [](const auto& one) { return one.second <= 0; });
    ASSERT_GE(expected.size(), 2U);
    std::map<std::string, double> found;
    for (const auto& [path, cost] : read.items()) {
      if (cost.get<double>() > 0) found[path] += cost.get<double>();
    }
    EXPECT_EQ(found.size(), expected.size());
    for (const auto& [path, cost] : expected) EXPECT_NEAR(found[path], cost, 1e-6) << path;
  }

  json read_speedscope(const CallTree& tree) const {
    return consume({"speedscope", fixture("speedscope.schema.json").string(),
                    write("speedscope.json", speedscope_json(tree, "not UTF-8: \xff"))});
  }
};

TEST_F(FlameFormats, SpeedscopeHasTheCostOfEachPath) {
  const CallTree tree = recorded();
  expect_equal(read_speedscope(tree), tree);
  EXPECT_GE(folded(tree).size(), 500U);
  EXPECT_EQ(read_speedscope(hostile()).size(), hostile_texts().size());
}

TEST_F(FlameFormats, FirefoxHasTheCostOfEachPath) {
  const CallTree tree = recorded();
  expect_equal(read("firefox", firefox_json(tree, "not UTF-8: \xff")), tree);
  // The empty loop costs more than the statement's own code.
  EXPECT_EQ(read("firefox", firefox_json(hostile(), "k")).size(), 1 + hostile_texts().size());
}

}  // namespace
}  // namespace instr::formats::flame_test
