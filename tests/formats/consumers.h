// Runs the programs that read our output, and compares their findings with the input.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/base/process.h"
#include "tests/testing.h"

namespace instr::formats {

using namespace testing;
using nlohmann::json;

inline fs::path fixture(const std::string& name) { return testing::fixture("formats/" + name); }

// The folder in which tools/test installs the consumers from PyPI.
inline fs::path consumers() {
  const char* folder = getenv("INSTR_TEST_CONSUMERS");
  if (folder == nullptr) {
    throw std::runtime_error("INSTR_TEST_CONSUMERS is not set: run tools/test");
  }
  return folder;
}

class ConsumerTest : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    return folder_.write(name, text).string();
  }

  const fs::path& folder() const { return folder_.path(); }

  // Returns the output of the command; the test fails if the command does.
  static std::string run(const std::vector<std::string>& argv) { return program_output(argv); }

  static json consume(const std::vector<std::string>& arguments) {
    std::vector<std::string> argv{(consumers() / "bin/python").string(), "-I",
                                  INSTR_SOURCE_DIR "/tests/formats/consume.py"};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    return json::parse(run(argv), nullptr, false);
  }

  // Returns the result of `reader` of consume.py for `text`.
  json read(const std::string& reader, const std::string& text) const {
    return consume({reader, write("read." + reader, text)});
  }

  json validate(const std::string& schema, const std::string& text) const {
    return consume({"schema", fixture(schema).string(), write("validated.json", text)});
  }

  // Also checks both schemas of Jenkins' xunit plugin; the first is stricter.
  json read_junit(const std::string& text) const {
    std::string path = write("junit.xml", text);
    int schemas = 0;
    for (const auto& schema : fs::directory_iterator(consumers() / "junit")) {
      run({"xmllint", "--noout", "--schema", schema.path().string(), path});
      ++schemas;
    }
    EXPECT_EQ(schemas, 2);
    return consume({"junit", path});
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace instr::formats
