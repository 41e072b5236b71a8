// tools/definition.schema.json, compared with the loader: the same keys, and the same answer to the
// same files.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "core/definitions/definition_keys.h"
#include "core/definitions/limit.h"
#include "core/definitions/metrics.h"
#include "core/definitions/toml_reader.h"
#include "tests/json_schema.h"
#include "tests/unit/definition_testing.h"

namespace instr::definition_schema_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string read_file(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

const json& schema() {
  static const json kSchema =
      json::parse(read_file(fs::path(INSTR_SOURCE_DIR) / "tools/definition.schema.json"));
  return kSchema;
}

json to_json(const toml::node& node) {
  if (const auto* table = node.as_table()) {
    json object = json::object();
    for (const auto& [key, value] : *table) object[std::string(key.str())] = to_json(value);
    return object;
  }
  if (const auto* array = node.as_array()) {
    json list = json::array();
    for (const auto& value : *array) list.push_back(to_json(value));
    return list;
  }
  if (const auto* value = node.as_string()) return value->get();
  if (const auto* value = node.as_integer()) return value->get();
  if (const auto* value = node.as_floating_point()) return value->get();
  if (const auto* value = node.as_boolean()) return value->get();
  return json();
}

bool schema_accepts(const std::string& toml_text) {
  static const JsonSchema kSchema(schema());
  return kSchema.accepts(to_json(toml::parse(toml_text)));
}

bool loader_accepts(const std::string& toml_text) {
  static const TempFolder folder;
  static const bool kHasParts =
      !folder.write("ops.cpp", "").empty() && !folder.write("x.inc", "schema = 1\n").empty();
  return kHasParts && load_definitions({folder.write("a.toml", toml_text)}).has_value();
}

std::set<std::string> property_names(const json& object) {
  std::set<std::string> names;
  for (const auto& [name, value] : object.at("properties").items()) names.insert(name);
  return names;
}

std::set<std::string> set_of(Keys keys) {
  const std::vector<std::string> names = names_of(keys);
  return {names.begin(), names.end()};
}

TEST(DefinitionSchema, HasTheLoadersKeys) {
  const json& parts = schema().at("definitions");
  EXPECT_EQ(property_names(schema()), set_of(file_keys()));
  EXPECT_EQ(property_names(parts.at("setup")), set_of(setup_keys()));
  EXPECT_EQ(property_names(parts.at("benchmark")), set_of(benchmark_keys()));
  EXPECT_EQ(property_names(parts.at("build")), set_of(build_keys()));
  const json& tolerance = parts.at("benchmark").at("properties").at("tolerance");
  EXPECT_EQ(property_names(tolerance), set_of(tolerance_keys()));
  EXPECT_EQ(names_of(limit_keys()), limit_metrics());
}

TEST(DefinitionSchema, HasALimitOfEachMetric) {
  json expected = json::object();
  for (const Metric& metric : kMetrics) {
    const std::string what = std::string("Limit of ") + metric.what + ".";
    expected[metric.name] = {{"description", what}, {"allOf", {{{"$ref", "#/definitions/limit"}}}}};
  }
  const json& benchmark = schema().at("definitions").at("benchmark").at("properties");
  EXPECT_EQ(benchmark.at("limit").at("properties").dump(2), expected.dump(2));
}

TEST(DefinitionSchema, HasTheLoadersWordsAndBounds) {
  const json& parts = schema().at("definitions");
  EXPECT_EQ(parts.at("device").at("enum"), json(known_devices()));
  const json& benchmark = parts.at("benchmark").at("properties");
  EXPECT_EQ(benchmark.at("reduce").at("enum"), json(known_reductions()));
  EXPECT_EQ(parts.at("threads").at("maximum"), kMaxThreads);
  EXPECT_EQ(benchmark.at("warmup").at("maximum"), kMaxIterations);
  EXPECT_EQ(benchmark.at("iterations").at("maximum"), kMaxIterations);
  EXPECT_EQ(schema().at("properties").at("schema").at("const"), kDefinitionSchema);
}

// Every object in the schema that has properties.
void for_each_property(const json& node,
                       const std::function<void(const std::string&, const json&)>& call) {
  if (node.is_array()) {
    for (const json& element : node) for_each_property(element, call);
  }
  if (!node.is_object()) return;
  for (const auto& [name, value] : node.items()) {
    if (name == "if" || name == "then" || name == "allOf") continue;  // conditions describe nothing
    if (name == "properties") {
      for (const auto& [key, property] : value.items()) call(key, property);
    }
    for_each_property(value, call);
  }
}

TEST(DefinitionSchema, DescribesEveryKey) {
  int seen = 0;
  for_each_property(schema(), [&](const std::string& name, const json& property) {
    ++seen;
    const json& parts = schema().at("definitions");
    const bool described = property.contains("description") ||
                           (property.contains("$ref") && parts.at(name).contains("description"));
    EXPECT_TRUE(described) << name;
  });
  EXPECT_GE(seen, 35);
}

// --- The same answer to the same files ---

std::vector<fs::path> files(const std::string& folder) {
  std::vector<fs::path> result;
  const fs::path base = fs::path(INSTR_SOURCE_DIR) / "tests/fixtures/definitions" / folder;
  for (const auto& entry : fs::directory_iterator(base)) {
    if (entry.path().extension() == ".toml") result.push_back(entry.path());
  }
  return result;
}

TEST(DefinitionSchema, AcceptsTheAcceptedFixtures) {
  ASSERT_GE(files("accepted").size(), 3u);
  for (const fs::path& file : files("accepted"))
    EXPECT_TRUE(schema_accepts(read_file(file))) << file;
}

TEST(DefinitionSchema, RefusesTheRefusedFixtures) {
  // Errors that only the loader can see: other files, other benchmarks, relations between texts.
  const std::set<std::string> only_loader{
      "broken_toml",      "duplicate_toml_key", "duplicate_variants",
      "includes_itself",  "matrix_explodes",    "misspelt_setup",
      "no_setups_at_all", "unknown_setup",      "unused_setup"};
  for (const fs::path& file : files("refused")) {
    const std::string name = file.stem().string();
    if (name == "broken_toml" || name == "duplicate_toml_key") continue;
    EXPECT_EQ(schema_accepts(read_file(file)), only_loader.contains(name)) << file;
  }
}

// Each key in turn takes each of these values, in an otherwise valid file.
const char* const kValues[] = {"1",
                               "0",
                               "-1",
                               "2000",
                               "1.5",
                               "true",
                               "false",
                               "\"\"",
                               "\" \"",
                               "\"x\"",
                               "\"x y\"",
                               "\"cpu\"",
                               "\"sum\"",
                               "\"f(x) -> y\"",
                               "\"1%\"",
                               "\"+5\"",
                               "\"1%|+5\"",
                               "\">=2.0\"",
                               "\"==2,<3\"",
                               "\"2.0\"",
                               "[]",
                               "[1]",
                               "[1, 2]",
                               "[1, 1]",
                               "[0]",
                               "[1.5]",
                               "[\"x\"]",
                               "[\"cpu\", \"cuda\"]",
                               "[\"cpu\", \"cpu\"]",
                               "[1, \"x\"]",
                               "[\"\"]",
                               "[[1]]",
                               "{}",
                               "{ n = 1 }",
                               "{ n = [1, 2] }",
                               "{ n = [] }",
                               "{ n = \"x\" }",
                               "{ n = [\"x\"] }",
                               "{ n = [1, \"y\", true] }",
                               "{ n = {} }",
                               "{ n = [[1]] }",
                               "{ ir = \"1%\" }",
                               "{ ir = \"1\" }",
                               "{ ir = 1 }",
                               "{ rtol = 0 }",
                               "{ atol = -1 }",
                               "0.5",
                               "{ zz = \"1%\" }",
                               "{ \"a b\" = \"x\" }",
                               "{ n = [1, 1] }",
                               "{ n = \"\" }",
                               "[{}]",
                               "\"x.inc\"",
                               "\"ops.cpp\"",
                               "[\"ops.cpp\"]",
                               "[\"x.inc\"]"};

void compare(const std::string& text) {
  EXPECT_EQ(schema_accepts(text), loader_accepts(text)) << text;
}

TEST(DefinitionSchema, AnswersAsTheLoaderForEveryKeyOfABenchmark) {
  for (const Key& key : benchmark_keys()) {
    for (const char* value : kValues) {
      const std::string name(key.name);
      // A setup named x, for `use`; every other key that a key may need, without conflicts.
      std::string text =
          "schema = 1\nsetups.x.cpp = \"int x;\"\n[[benchmark]]\nlabel = \"user\"\nuse = "
          "\"x\"\nstmt = \"x;\"\n[[benchmark]]\n";
      if (name != "label") text += "label = \"label\"\n";
      const bool is_python = name.starts_with("py_");
      const std::string bare = is_python ? name.substr(3) : name;
      if (bare != "stmt" && bare != "stmts" && bare != "module") text += "stmt = \"x;\"\n";
      if (bare == "setup" || bare == "global_setup" || name == "torchscript") {
        text += "py_stmt = \"x\"\n";
      }
      if (name == "torchscript" || name == "autograd" || bare == "module") {
        text += "signature = \"f(x) -> y\"\n";
      }
      // The schema does not know the setups' names.
      if (name == "use" && std::string(value).find('"') != std::string::npos &&
          std::string(value).find("x\"") == std::string::npos) {
        continue;
      }
      if (name == "use" && std::string(value) == "\"x y\"") continue;
      compare(text + name + " = " + value + "\n");
    }
  }
}

TEST(DefinitionSchema, AnswersAsTheLoaderForEveryOtherKey) {
  const std::string benchmark = "[[benchmark]]\nlabel = \"label\"\nstmt = \"x;\"\n";
  const auto is_path = [](const std::string& value) {
    return value.find('"') != std::string::npos && value.find('{') == std::string::npos &&
           value.find("[[") == std::string::npos && value.find("1,") == std::string::npos;
  };
  for (const std::string value : kValues) {
    const bool is_right_path = value.find("x.inc") != std::string::npos;
    const bool is_right_source = value.find("ops.cpp") != std::string::npos || value == "[\"\"]";
    for (const std::string name :
         {"global_setup", "py_global_setup", "include", "setups", "build"}) {
      if (name == "include" && is_path(value) && !is_right_path) continue;
      if (name == "setups" && value.find('{') == 0) continue;
      compare("schema = 1\n" + name + " = " + value + "\n" + benchmark);
    }
    compare("schema = " + value + "\n" + benchmark);
    compare("schema = 1\nsetups.x = { cpp = " + value + " }\n" + benchmark + "use = \"x\"\n");
    compare("schema = 1\nsetups.x = { cpp = \"int x;\", py = " + value + " }\n" + benchmark +
            "use = \"x\"\n");
    for (const Key& key : build_keys()) {
      if (key.name == "sources" && is_path(value) && !is_right_source) continue;
      compare("schema = 1\n" + benchmark + "[build]\n" + std::string(key.name) + " = " + value +
              "\n");
    }
    for (const Key& key : limit_keys()) {
      compare("schema = 1\n" + benchmark + "limit = { " + std::string(key.name) + " = " + value +
              " }\n");
    }
  }
}

TEST(DefinitionSchema, AnswersAsTheLoaderToWhatKeysDoTogether) {
  const std::string head = "schema = 1\n[[benchmark]]\n";
  for (const char* text :
       {"label = \"x\"",
        "stmt = \"x;\"",
        "label = \"x\"\nmodule = \"M()\"",
        "label = \"x\"\nmodule = \"M()\"\nstmt = \"x;\"",
        "label = \"x\"\nmodule = \"M()\"\nstmts = { a = \"x;\" }",
        "label = \"x\"\nstmt = \"x;\"\nstmts = { a = \"x;\" }",
        "label = \"x\"\nstmts = { a = \"x;\" }\nsignature = \"f(x) -> y\"\ntorchscript = \"y = x\"",
        "label = \"x\"\nstmt = \"x;\"\ntorchscript = \"y = x\"",
        "label = \"x\"\npy_stmt = \"x\"",
        "label = \"x\"\npy_stmts = { a = \"x\" }",
        "label = \"x\"\npy_module = \"M()\"",
        "label = \"x\"\npy_module = \"M()\"\nsignature = \"f(x) -> y\"",
        "label = \"x\"\npy_module = \"M()\"\nsignature = \"f(x) -> y\"\ntorchscript = true",
        "label = \"x\"\npy_stmt = \"x\"\nsignature = \"f(x) -> y\"\ntorchscript = true",
        "label = \"x\"\nstmt = \"x;\"\nsignature = \"f(x) -> y\"\ntorchscript = true",
        "label = \"x\"\nmodule = \"M()\"\nsignature = \"f(x) -> y\"\ntorchscript = true",
        "label = \"x\"\nmodule = \"M()\"\nstmt = \"x;\"\nsignature = \"f(x) -> y\"\ntorchscript = "
        "true",
        "label = \"x\"\npy_stmt = \"x\"\npy_stmts = { a = \"x\" }",
        "label = \"x\"\npy_stmt = \"x\"\nsetup = \"int x;\"",
        "label = \"x\"\npy_stmt = \"x\"\nglobal_setup = \"int x;\"",
        "label = \"x\"\nstmt = \"x;\"\npy_setup = \"x = 1\"",
        "label = \"x\"\nstmt = \"x;\"\npy_global_setup = \"x = 1\"",
        "label = \"x\"\npy_stmt = \"x\"\npy_module = \"M()\"\nexplicit = true",
        "label = \"x\"\npy_stmts = { a = \"x\" }\nsignature = \"f(x) -> y\"\ntorchscript = \"y = "
        "x\"",
        "label = \"x\"\nstmt = \"x;\"\nautograd = true",
        "label = \"x\"\nstmt = \"x;\"\nautograd = false",
        "label = \"x\"\nstmt = \"x;\"\nexplicit = true",
        "label = \"x\"\nstmt = \"x;\"\nexplicit = true\nmatrix = { n = 1 }",
        "label = \"x\"\nstmt = \"x;\"\nexplicit = false\nmatrix = { n = 1 }",
        "label = \"x\"\nstmt = \"x;\"\nexplicit = true\nthreads = [1, 2]",
        "label = \"x\"\nstmt = \"x;\"\nexplicit = true\nthreads = [2]",
        "label = \"x\"\nstmt = \"x;\"\nexplicit = true\ndevice = [\"cpu\", \"cuda\"]",
        "label = \"x\"\nstmt = \"x;\"\nexplicit = true\nmodule = \"M()\"",
        "label = \"x\"\nstmt = \"x;\"\nexplicit = true\nsignature = \"f(x) -> y\"\nautograd = true",
        "label = \"x\"\nstmt = \"x;\"\nexplicit = true\nsignature = \"f(x) -> y\"\nautograd = "
        "false",
        "label = \"x\"\nstmts = { \" \" = \"x;\" }",
        "label = \"a\\tb\"\nstmt = \"x;\"",
        "label = \"x\"\nstmt = \"x;\"\nmatrix = { \"1n\" = 1 }",
        "label = \"x\"\nstmt = \"x;\"\nmatrix = { n = \"a\\nb\" }"}) {
    compare(head + text + "\n");
  }
}

}  // namespace
}  // namespace instr::definition_schema_test
