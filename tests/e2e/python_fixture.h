// Snippets in Python, in the interpreter that the LibTorch was installed for.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/e2e/tested_program.h"

namespace instr::e2e {

// Tests in a folder with definitions of snippets in Python.
class PythonTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_python()) GTEST_SKIP() << "TORCH_DIR is not the torch of an interpreter";
  }

  fs::path write(const std::string& name, std::string text) const {
    for (std::size_t at; (at = text.find("FOLDER")) != std::string::npos;) {
      text.replace(at, 6, folder_.path().string());
    }
    return folder_.write(name, text);
  }

  Records counted(std::vector<std::string> more = {},
                  const std::vector<std::string>& variables = {}) const {
    const fs::path output = folder_.path() / "results.jsonl";
    fs::remove(output);
    more.insert(more.begin(), {"--definitions=" + (folder_.path() / "all.toml").string(),
                               "--output=" + output.string(), "--quiet"});
    const CommandResult result = run(std::move(more), variables);
    EXPECT_EQ(result.exit_code, 0) << result.errors << result.output;
    return read_results(output);
  }

  // Returns what `explain` says in JSON of a benchmark in all.toml.
  nlohmann::json explained(const std::string& key, std::vector<std::string> more = {}) const {
    more.push_back("--definitions=" + (folder_.path() / "all.toml").string());
    return explanation(key, std::move(more));
  }

  // Returns what it says of the results of counted().
  nlohmann::json explained_results(const std::string& key) const {
    return explanation(key, {(folder_.path() / "results.jsonl").string()});
  }

  TemporaryFolder folder_;

 private:
  static nlohmann::json explanation(const std::string& key, std::vector<std::string> more) {
    more.insert(more.begin(), {"explain", key, "--format=json", "--quiet"});
    const CommandResult result = run(std::move(more));
    EXPECT_EQ(result.exit_code, 0) << result.errors << result.output;
    return nlohmann::json::parse(result.output);
  }
};

}  // namespace instr::e2e
