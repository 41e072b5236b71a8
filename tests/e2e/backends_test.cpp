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

constexpr const char* kExported = R"toml(schema = 1
[[benchmark]]
label = "made"
setup = "auto x = torch::rand({16, 16});"
stmt = "auto y = torch::relu(x) * 2;"
py_setup = "x = torch.rand((16, 16))"
py_stmt = "y = torch.relu(x) * 2"
torchscript = true
signature = "f(x) -> y"
[[benchmark]]
label = "linear"
py_setup = "x = torch.rand((4, 8))"
py_module = "torch.nn.Linear(8, 2)"
signature = "f(x) -> y"
[[benchmark]]
label = "branches"
py_setup = "x = torch.ones(2)"
py_stmt = """
y = x + 1
if x.sum() > 0: y = x
"""
signature = "f(x) -> y"
)toml";

Records read_records(const CommandResult& result) {
  Records records;
  const auto report = nlohmann::json::parse(result.output);
  for (const auto& one : report.at("measurements")) records[one.at("key").get<std::string>()] = one;
  return records;
}

TEST_F(Backends, APackageIsMadeOfPythonAndCountedInBothLanguages) {
  if (python_of_libtorch().empty()) GTEST_SKIP() << "this LibTorch has no Python";
  write(file("e.toml"), kExported);
  const std::vector<std::string> options{"--definitions=" + file("e.toml"), "--backend=aoti",
                                         "--verify", "--format=json", "--quiet"};
  const auto first = read_records(run(options));
  const auto again = read_records(run(options));
  for (const std::string key : {"made/aoti", "made/py/aoti", "linear/py/aoti"}) {
    const nlohmann::json& record = first.at(key + "/forward/t1/cpu");
    ASSERT_EQ(record.at("outcome"), "counted") << record;
    EXPECT_EQ(record.at("steady"), true) << record;
    EXPECT_EQ(record.at("verification").at("code"), "PASS");
    EXPECT_EQ(again.at(key + "/forward/t1/cpu").at("metrics"), record.at("metrics")) << key;
  }
  const auto& failure = first.at("branches/py/aoti/forward/t1/cpu").at("failure");
  EXPECT_EQ(failure.at("kind"), "compile_error");
  const std::string message = failure.at("message");
  EXPECT_HAS(message, "e.toml:20:");
  EXPECT_HAS(message, "AOTInductor cannot make a package of it: ");
}

// Without TorchScript in the definition, what is prepared was traced.
TEST_F(Backends, ScriptsArePreparedInPythonToo) {
  if (python_of_libtorch().empty()) GTEST_SKIP() << "this LibTorch has no Python";
  write(file("e.toml"), kExported);
  const auto records = read_records(
      run({"--definitions=" + file("e.toml"), "--filter=^(made|linear)/", "--language=py",
           "--backend=frozen,optimized,fused,unfused,traced", "--metrics=wall", "--verify",
           "--repetitions=3", "--min-time=0.001", "--format=json", "--quiet"}));
  ASSERT_EQ(records.size(), 10u);
  for (const auto& [key, record] : records) {
    ASSERT_EQ(record.at("outcome"), "timed") << record;
    EXPECT_EQ(record.at("verification").at("code"), "PASS") << key;
  }
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
