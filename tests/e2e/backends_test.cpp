// An AOTInductor package, made by the Python of the LibTorch under test, as a backend; and the
// messages if it is missing or LibTorch is too old for it.
#include "tests/e2e/tested_program.h"
#include "tests/labels.h"

namespace instr::e2e::backends_test {
namespace {

const RunsUnder kNewestLibtorch("newest", "Backends.*");

const char* const kDefinitions = R"(schema = 1
[[benchmark]]
label = "scaled"
setup = "auto x = torch::rand({16, 16}), w = torch::rand({16, 16});"
signature = "f(x, w) -> y"
stmt = "auto y = torch::relu(torch::mm(x, w)) * 2;"
torchscript = "y = torch.relu(torch.mm(x, w)) * 2"
package = "scaled.pt2"
[[benchmark]]
label = "another"
setup = "auto x = torch::rand({16, 16}), w = torch::rand({16, 16});"
signature = "f(x, w) -> y"
stmt = "auto y = torch::mm(x, w);"
package = "scaled.pt2"
[[benchmark]]
label = "missing"
setup = "auto x = torch::rand({16, 16});"
signature = "f(x) -> y"
stmt = "auto y = x + 1;"
package = "missing.pt2"
)";

class Backends : public ::testing::Test {
 protected:
  Backends() { write(file("d.toml"), kDefinitions); }

  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }

  Records measure(std::vector<std::string> options) const {
    for (const char* option :
         {"--backend=eager,torchscript,aoti", "--repetitions=3", "--min-time=0.001"}) {
      options.emplace_back(option);
    }
    options.push_back("--definitions=" + file("d.toml"));
    options.push_back("--format=json");
    Records records;
    auto report = nlohmann::json::parse(run(std::move(options)).output);
    for (auto& one : report.at("measurements")) records[one.at("key").get<std::string>()] = one;
    return records;
  }

  TemporaryFolder folder_;
};

const std::string kPackage = "/aoti/forward/t1/cpu";

TEST_F(Backends, APackageIsTimedAndVerified) {
  fs::path python = python_of_libtorch();
  if (python.empty()) GTEST_SKIP() << "this LibTorch has no Python that makes packages";
  SpawnOptions make;
  make.argv = {python.string(), fixture("make_package.py").string(), file("scaled.pt2")};
  make.environment = environment();
  auto made = run_command(make);
  ASSERT_TRUE(made && made->exit_code == 0) << (made ? made->errors : "");

  auto records = measure({"--metrics=wall,first_result,ready", "--verify"});
  const auto& scaled = records.at("scaled" + kPackage);
  ASSERT_EQ(scaled.at("outcome"), "timed") << scaled;
  EXPECT_GT(scaled.at("metrics").at("wall").get<double>(), 0);
  EXPECT_EQ(scaled.at("verification").at("code"), "PASS");
  EXPECT_GT(scaled.at("metrics").at("ready").get<double>(), 0);
  // The package computes the result of one benchmark, not of the other.
  EXPECT_EQ(records.at("another" + kPackage).at("verification").at("code"), "FAIL");
  const auto& missing = records.at("missing" + kPackage);
  EXPECT_EQ(missing.at("failure").at("kind"), "definition_error");
  EXPECT_HAS(missing.at("failure").at("message").get<std::string>(), "missing.pt2");
  EXPECT_TRUE(stray_processes().empty());
}

TEST_F(Backends, OldLibTorchSkipsPackagesWithTheReason) {
  if (!python_of_libtorch().empty()) GTEST_SKIP() << "this LibTorch is new enough";
  auto records = measure({"--metrics=wall", "--filter=scaled"});
  EXPECT_EQ(records.at("scaled" + kPackage).at("outcome"), "skipped");
  EXPECT_HAS(records.at("scaled" + kPackage).at("reason").get<std::string>(), "2.6");
  EXPECT_EQ(records.at("scaled/torchscript/forward/t1/cpu").at("outcome"), "timed");
}

}  // namespace
}  // namespace instr::e2e::backends_test
