// The recipes for CI and the action, checked against the published schemas of their services.
#include "tests/formats/consumers.h"

namespace instr::formats::recipes_test {
namespace {

class Recipes : public ConsumerTest {
 protected:
  static void check(const std::string& schema, const std::string& recipe) {
    run({(consumers() / "bin/check-jsonschema").string(), "--builtin-schema", schema,
         INSTR_SOURCE_DIR "/" + recipe});
  }
};

TEST_F(Recipes, AreWorkflowsOfGitHub) {
  check("vendor.github-workflows", "docs/ci/github.yml");
  check("vendor.github-workflows", "docs/ci/github-shards.yml");
  check("vendor.github-workflows", "docs/ci/github-nightly.yml");
}

TEST_F(Recipes, AreActionsOfGitHub) {
  check("vendor.github-actions", "action.yml");
  check("vendor.github-actions", "setup/action.yml");
  check("vendor.github-actions", "comment/action.yml");
}

TEST_F(Recipes, ArePipelinesOfGitLab) {
  check("vendor.gitlab-ci", "docs/ci/gitlab.yml");
  check("vendor.gitlab-ci", "docs/ci/gitlab-shards.yml");
  check("vendor.gitlab-ci", "docs/ci/gitlab-nightly.yml");
}

}  // namespace
}  // namespace instr::formats::recipes_test
