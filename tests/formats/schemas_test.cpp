// The JSON Schema of definitions that the program prints, and files checked with it by
// check-jsonschema.

#include "tests/formats/consumers.h"

namespace instr::formats::schemas_test {
namespace {

using Errors = std::map<std::string, std::string>;

class Schemas : public ConsumerTest {
 protected:
  std::string schema() const {
    return write("definition.schema.json",
                 run({INSTR_BENCH_PROGRAM, "generate", "schema", "definitions"}));
  }

  // Returns the errors of all files by file and place: {"0.toml $.benchmark[0].stmt": "1 is not
  // ..."}.
  static Errors errors_of(std::vector<std::string> words) {
    words.insert(words.begin(), (consumers() / "bin/check-jsonschema").string());
    words.push_back("--output-format=json");
    const auto result = run_command({.argv = std::move(words)});
    Errors errors;
    const json found = json::parse(result ? result->output : "", nullptr, false);
    if (found.is_discarded()) {
      ADD_FAILURE() << (result ? result->errors : to_string(result.error()));
      return errors;
    }
    EXPECT_EQ(found.value("parse_errors", json::array()), json::array());
    for (const json& one : found.at("errors")) {
      const std::string file = fs::path(one.at("filename").get<std::string>()).filename();
      errors[file + " " + one.at("path").get<std::string>()] = one.at("message");
    }
    EXPECT_EQ(found.at("status") == "ok", errors.empty()) << found;
    return errors;
  }

  Errors errors_in(const std::vector<std::string>& files) const {
    std::vector<std::string> words{"--schemafile", schema()};
    words.insert(words.end(), files.begin(), files.end());
    return errors_of(std::move(words));
  }
};

std::vector<std::string> files_in(const fs::path& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(INSTR_SOURCE_DIR / folder)) {
    if (entry.path().extension() == ".toml") files.push_back(entry.path().string());
  }
  return files;
}

TEST_F(Schemas, AreValid) { EXPECT_EQ(errors_of({"--check-metaschema", schema()}), Errors{}); }

TEST_F(Schemas, AcceptTheDefinitionsOfThisRepository) {
  for (const char* folder : {"definitions", "suites", "tests/fixtures/definitions/accepted"}) {
    const auto files = files_in(folder);
    EXPECT_GE(files.size(), 3u) << folder;
    EXPECT_EQ(errors_in(files), Errors{}) << folder;
  }
}

struct Wrong {
  std::string text;
  std::string path;  // of the only error
  std::string message;
};

std::vector<Wrong> wrong_definitions() {
  const std::string head = "[[benchmark]]\nlabel = \"x\"\nstmt = \"x;\"\n";
  const std::string unknown = "Additional properties are not allowed ('zz' was unexpected)";
  const std::string none = " is not valid under any of the given schemas";
  return {
      {"zz = 1\n" + head, "$", unknown},
      {head + "zz = 1\n", "$.benchmark[0]", unknown},
      {head + "[build]\nzz = 1\n", "$.build", unknown},
      {"setups.a.zz = 1\n" + head, "$.setups.a", unknown},
      {head + "limit = { zz = \"1%\" }\n", "$.benchmark[0].limit", unknown},
      {head + "tolerance = { zz = 1 }\n", "$.benchmark[0].tolerance", unknown},
      {head + "limit = { instructions = 1 }\n", "$.benchmark[0].limit.instructions",
       "1 is not of type 'string'"},
      {head + "setup = 1\n", "$.benchmark[0].setup", "1 is not of type 'string'"},
      {head + "autograd = 1\n", "$.benchmark[0].autograd", "1 is not of type 'boolean'"},
      {head + "timeout = \"1\"\n", "$.benchmark[0].timeout", "'1' is not of type 'number'"},
      {head + "warmup = -1\n", "$.benchmark[0].warmup", "-1 is less than the minimum of 0"},
      {head + "reduce = \"max\"\n", "$.benchmark[0].reduce", "'max' is not one of ['sum', 'mean']"},
      {"[[benchmark]]\nstmt = \"x;\"\n", "$.benchmark[0]", "'label' is a required property"},
      {head + "[build]\nflags = \"-g\"\n", "$.build.flags", "'-g' is not of type 'array'"},
      {head + "threads = 0\n", "$.benchmark[0].threads", "0" + none},
      {head + "threads = [1, \"2\"]\n", "$.benchmark[0].threads", "[1, '2']" + none},
      {head + "device = \"gpu\"\n", "$.benchmark[0].device", "'gpu'" + none},
      {head + "torchscript = false\n", "$.benchmark[0].torchscript", "False" + none},
      {head + "matrix = { n = [[1]] }\n", "$.benchmark[0].matrix.n", "[[1]]" + none},
      {head + "stmts = { a = 1 }\n", "$.benchmark[0].stmts.a", "1" + none},
  };
}

TEST_F(Schemas, RefuseUnknownKeysAndWrongValues) {
  std::vector<std::string> files;
  Errors expected;
  for (const Wrong& wrong : wrong_definitions()) {
    const std::string name = std::to_string(files.size()) + ".toml";
    files.push_back(write(name, "schema = 1\n" + wrong.text));
    expected[name + " " + wrong.path] = wrong.message;
  }
  EXPECT_EQ(errors_in(files), expected);
}

}  // namespace
}  // namespace instr::formats::schemas_test
