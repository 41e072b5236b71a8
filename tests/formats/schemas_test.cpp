// The JSON Schemas that the program prints, and files checked with them by check-jsonschema.
#include <filesystem>

#include "core/results/results_file.h"
#include "tests/formats/consumers.h"
#include "tests/results_examples.h"

namespace instr::formats::schemas_test {
namespace {

using Errors = std::map<std::string, std::string>;

class Schemas : public ConsumerTest {
 protected:
  std::string schema(const std::string& name) const {
    return write(name + ".schema.json", run({INSTR_BENCH_PROGRAM, "generate", "schema", name}));
  }

  // Returns the errors of all files by file and place: {"0.toml $.benchmark[0].stmt": "1 is not
  // ..."}.
  static Errors errors_of(std::vector<std::string> words) {
    words.insert(words.begin(), (consumers() / "bin/check-jsonschema").string());
    words.push_back("--output-format=json");
    SpawnOptions options;
    options.argv = std::move(words);
    const auto result = run_command(std::move(options));
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

  Errors errors_in(const std::string& kind, const std::vector<std::string>& files) const {
    std::vector<std::string> words{"--schemafile", schema(kind)};
    words.insert(words.end(), files.begin(), files.end());
    return errors_of(std::move(words));
  }

  // Writes each line of a results file as a separate file.
  std::vector<std::string> lines_of(const fs::path& file) const {
    std::vector<std::string> files;
    for (const std::string& line : split_lines(text_of(file))) {
      files.push_back(write("line" + std::to_string(files.size()) + ".json", line));
    }
    return files;
  }
};

std::vector<std::string> files_in(const fs::path& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(INSTR_SOURCE_DIR / folder)) {
    if (entry.path().extension() == ".toml") files.push_back(entry.path().string());
  }
  return files;
}

TEST_F(Schemas, AreValid) {
  EXPECT_EQ(errors_of({"--check-metaschema", schema("definitions"), schema("results")}), Errors{});
}

TEST_F(Schemas, AcceptTheDefinitionsOfThisRepository) {
  for (const char* folder : {"definitions", "suites", "tests/fixtures/definitions/accepted"}) {
    const auto files = files_in(folder);
    EXPECT_GE(files.size(), 3u) << folder;
    EXPECT_EQ(errors_in("definitions", files), Errors{}) << folder;
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
  EXPECT_EQ(errors_in("definitions", files), expected);
}

TEST_F(Schemas, AcceptRecordedResults) {
  for (const char* name : {"before.jsonl", "after.jsonl"}) {
    const auto lines = lines_of(fixture(name));
    EXPECT_GE(lines.size(), 3u);
    EXPECT_EQ(errors_in("results", lines), Errors{}) << name;
  }
}

TEST_F(Schemas, DescribeEveryMemberOfWrittenResults) {
  const fs::path file = folder() / "results.jsonl";
  testing::write_results(file, example_header(), measurements_of_all_outcomes());
  const auto lines = lines_of(file);
  EXPECT_EQ(lines.size(), measurements_of_all_outcomes().size() + 2);  // the header and the end
  EXPECT_EQ(errors_in("results", lines), Errors{});
  const json any = json::parse(std::ifstream(schema("results")));
  for (const std::string& path : lines) {
    const json line = json::parse(std::ifstream(path));
    const json& part = line.contains("schema") ? any["then"]
                       : line.contains("end")  ? any["else"]["then"]
                                               : any["else"]["else"];
    for (const auto& [name, value] : line.items()) {
      EXPECT_TRUE(part["properties"].contains(name)) << name;
      const json& members =
          part["properties"].value(name, json::object()).value("properties", json());
      if (!value.is_object() || members.is_null() || name == "fingerprint") continue;
      for (const auto& [inner, ignored] : value.items()) {
        EXPECT_TRUE(members.contains(inner)) << name << " " << inner;
      }
    }
  }
}

TEST_F(Schemas, RefuseOtherLines) {
  const json good = json::parse(to_json(measurements_of_all_outcomes()[0]).dump());
  json wrong = good;
  wrong["steady"] = "yes";
  json incomplete = good;
  incomplete.erase("blocks");
  json guessed = good;
  guessed["outcome"] = "guessed";
  EXPECT_EQ(
      errors_in("results", {write("good.json", good.dump()), write("0.json", wrong.dump()),
                            write("1.json", incomplete.dump()), write("2.json", guessed.dump())}),
      (Errors{{"0.json $.steady", "'yes' is not of type 'boolean'"},
              {"1.json $", "'blocks' is a required property"},
              {"2.json $.outcome",
               "'guessed' is not one of ['counted', 'timed', 'verified', 'skipped', "
               "'failed']"}}));
}

}  // namespace
}  // namespace instr::formats::schemas_test
