// Loads and expands each example of docs/DEFINITIONS.md and docs/SUITES.md.
#include "core/base/read_file.h"
#include "tests/testing.h"

namespace instr::definitions_doc_test {
namespace {

using namespace testing;

std::string page(const std::string& name) {
  return read_file(std::string(INSTR_SOURCE_DIR) + "/docs/" + name, kMaxTextBytes).value();
}

// Returns the text of each ```toml fence.
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
  const std::vector<std::string> all = examples(page("DEFINITIONS.md") + page("SUITES.md"));
  ASSERT_GE(all.size(), 10u);
  for (const std::string& example : all) {
    const TemporaryFolder folder;
    // Files that the examples need.
    folder.write("my_ops.cpp", "");
    folder.write("common.toml", "schema = 1\n[setups.pair]\ncpp = \"torch::Tensor x, w;\"\n");
    EXPECT_EQ(load_errors({folder.write("example.toml", example)}, folder.path()), "") << example;
  }
}

}  // namespace
}  // namespace instr::definitions_doc_test
