// The recipes for CI, checked against the published schemas of their services.
#include "tests/formats/consumers.h"

namespace instr::formats::recipes_test {
namespace {

class Recipes : public ConsumerTest {
 protected:
  static void check(const std::string& schema, const std::string& recipe) {
    run({(consumers() / "bin/check-jsonschema").string(), "--builtin-schema", schema,
         INSTR_SOURCE_DIR "/docs/ci/" + recipe});
  }
};

TEST_F(Recipes, AreWorkflowsOfGitHub) {
  check("vendor.github-workflows", "github.yml");
  check("vendor.github-workflows", "github-shards.yml");
  check("vendor.github-workflows", "github-nightly.yml");
}

TEST_F(Recipes, ArePipelinesOfGitLab) {
  check("vendor.gitlab-ci", "gitlab.yml");
  check("vendor.gitlab-ci", "gitlab-shards.yml");
  check("vendor.gitlab-ci", "gitlab-nightly.yml");
}

}  // namespace
}  // namespace instr::formats::recipes_test
