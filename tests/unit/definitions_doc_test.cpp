// docs/DEFINITIONS.md: each example is loaded and expanded, as are those of docs/SUITES.md, and
// every key is mentioned.
#include <algorithm>
#include <sstream>

#include "core/definitions/definition_keys.h"
#include "core/definitions/metrics.h"
#include "tests/unit/definition_testing.h"
#include "tests/unit/documents.h"

namespace instr::definitions_doc_test {
namespace {

std::string document() { return testing::source_file("docs/DEFINITIONS.md"); }

// The text of each ```toml fence.
std::vector<std::string> examples(const std::string& text) {
  const std::string open = "```toml\n";
  std::vector<std::string> result;
  for (std::size_t at = text.find(open); at != std::string::npos; at = text.find(open, at)) {
    at += open.size();
    const std::size_t end = text.find("```", at);
    result.push_back(text.substr(at, end - at));
  }
  return result;
}

TEST(DefinitionsDocument, HasExamplesThatLoadAndExpand) {
  const std::vector<std::string> all =
      examples(document() + testing::source_file("docs/SUITES.md"));
  ASSERT_GE(all.size(), 10u);
  for (const std::string& example : all) {
    const TempFolder folder;
    // Files that the examples need.
    folder.write("my_ops.cpp", "");
    folder.write("common.toml", "schema = 1\n[setups.pair]\ncpp = \"torch::Tensor x, w;\"\n");
    EXPECT_EQ(load_errors({folder.write("example.toml", example)}, folder.path()), "") << example;
  }
}

TEST(DefinitionsDocument, ExplainsEveryKeyAndShowsItInAnExample) {
  const std::string text = document();
  std::string shown;
  for (const std::string& example : examples(text)) shown += "\n" + example;
  std::vector<std::string> names = names_of(kUsualMetrics);  // the others have tables elsewhere
  for (const Keys keys :
       {file_keys(), setup_keys(), benchmark_keys(), build_keys(), tolerance_keys()}) {
    for (std::string& name : names_of(keys)) names.push_back(std::move(name));
  }
  for (const std::string& name : names) {
    const bool in_heading = text.find("# " + name + "\n") != std::string::npos ||
                            text.find(", " + name + "\n") != std::string::npos ||
                            text.find("# " + name + ",") != std::string::npos ||
                            text.find(", " + name + ",") != std::string::npos;
    EXPECT_TRUE(in_heading || text.find("`" + name + "`") != std::string::npos) << name;
    const bool in_example = shown.find("\n" + name + " = ") != std::string::npos ||
                            shown.find(" " + name + " = ") != std::string::npos ||
                            shown.find("." + name) != std::string::npos ||
                            shown.find("[" + name) != std::string::npos;
    EXPECT_TRUE(in_example) << name;
  }
}

TEST(DefinitionsDocument, StatesTheRealLimits) {
  const std::string text = document();
  EXPECT_EQ(kMaxVariantsPerBenchmark, 10'000u);
  EXPECT_NE(text.find("at most 10,000 variants"), std::string::npos);
  EXPECT_EQ(kMaxVariants, 100'000u);
  EXPECT_NE(text.find("one run 100,000"), std::string::npos);
  EXPECT_NE(text.find("1 to " + std::to_string(kMaxThreads)), std::string::npos);
}

}  // namespace
}  // namespace instr::definitions_doc_test
