// [[backend]] and [[setting]] of definition files.
#include "core/definitions/declarations.h"

#include <gtest/gtest.h>

#include "core/compile/python/generate_python.h"
#include "core/definitions/axes.h"
#include "core/definitions/expand.h"
#include "core/definitions/load.h"
#include "tests/testing.h"

namespace instr::declarations_test {
namespace {

using namespace testing;

constexpr const char* kBenchmark =
    "[[benchmark]]\nlabel = 'a'\npy_setup = 'x = torch.ones(2)'\npy_stmt = 'y = x + 1'\n"
    "stmt = 'torch::ones({2});'\nsignature = 'f(x) -> y'\n";

std::string errors_in(const std::string& declarations) {
  return errors_of("schema = 1\n" + declarations + kBenchmark);
}

// Returns the variants of kBenchmark in these settings.
std::vector<Variant> variants_of(const std::string& declarations, const std::string& backend,
                                 const std::vector<std::string>& settings) {
  const TemporaryFolder folder;
  const auto loaded = value_of(
      load_definitions({folder.write("a.toml", "schema = 1\n" + declarations + kBenchmark)}));
  const Declarations& declared = loaded.declarations;
  define_backends({declared.backends.begin(), declared.backends.end()});
  const ExperimentAxes axes{.settings = settings};
  return value_of(
      expand(apply_axes(loaded.benchmarks, axes, value_of(find_settings(settings, declared))),
             {Backend::kEager, value_of(parse_backend(backend))}));
}

std::string code_of(const Variant& variant) {
  const PythonSnippet snippet = make_python_snippet(variant, Purpose::kMeasure);
  std::string code;
  for (const auto* part : {&snippet.module, &snippet.setup, &snippet.statement}) {
    for (const Text& text : *part) code += text.code + "\n";
  }
  return code;
}

TEST(Declarations, ABackendIsAFunctionOrARegisteredName) {
  const auto of_function = variants_of(
      "[[backend]]\nname = 'mine'\nimport = 'my.module:compile'\nfullgraph = true\n"
      "options = { level = 2, share = 2.0, names = ['a\"b', '😀'], fast = true }\n",
      "mine", {});
  ASSERT_EQ(of_function.size(), 3u);
  EXPECT_EQ(of_function[2].key, "a/py/mine/forward/t1/cpu");
  EXPECT_HAS(code_of(of_function[2]), "from my.module import compile as instr_backend_\n");
  EXPECT_HAS(code_of(of_function[2]),
             "torch.compile(instr_function_, backend=instr_backend_, options={\"level\": 2, "
             "\"share\": 2.0, "
             "\"names\": [\"a\\\"b\", \"😀\", ], \"fast\": True, }, fullgraph=True)");
  const auto of_module = variants_of(
      "[[backend]]\nname = 'theirs'\nimport = 'my.module'\n"
      "mode = 'fast'\n",
      "theirs", {});
  EXPECT_HAS(code_of(of_module[2]), "import my.module\n");
  EXPECT_HAS(code_of(of_module[2]), "backend=\"theirs\", mode=\"fast\")");
  // Without a declaration, a name is that of a function, or torch.compile()'s own.
  EXPECT_HAS(code_of(variants_of("", "m:f", {})[2]), "from m import f as instr_backend_\n");
  const std::string plain = code_of(variants_of("", "theirs", {})[2]);
  EXPECT_EQ(plain.find("import"), std::string::npos);
  EXPECT_HAS(plain, "backend=\"theirs\")");
}

TEST(Declarations, ASettingIsAnAxisOfPython) {
  const auto variants = variants_of(
      "[[setting]]\nname = 'cold'\nenvironment = { MINE = 'a\"b' }\n"
      "inductor = { freezing = true, triton.cudagraphs = false }\n"
      "torch = \"torch.set_float32_matmul_precision('high')\"\n",
      "inductor", {"default", "cold"});
  std::vector<std::string> keys;
  for (const Variant& variant : variants) keys.push_back(variant.key);
  EXPECT_EQ(keys, (std::vector<std::string>{"a/eager/forward/t1/cpu", "a/py/eager/forward/t1/cpu",
                                            "a/py/inductor/forward/t1/cpu",
                                            "a/setting=cold/py/eager/forward/t1/cpu",
                                            "a/setting=cold/py/inductor/forward/t1/cpu"}));
  const std::string own =
      "import os\nos.environ[\"MINE\"] = \"a\\\"b\"\n"
      "import torch._inductor.config\n"
      "setattr(torch._inductor.config, \"freezing\", True)\n"
      "import torch._inductor.config\n"
      "setattr(torch._inductor.config, \"triton.cudagraphs\", False)\n";
  const std::string precision = "torch.set_float32_matmul_precision('high')\n";
  EXPECT_EQ(code_of(variants[4]).find(own + "\n" + precision), 0u);
  // Eager needs no compiler's configuration, and its process has not imported one.
  EXPECT_EQ(code_of(variants[3]).find("torch._inductor"), std::string::npos);
  EXPECT_HAS(code_of(variants[3]), precision);
  EXPECT_EQ(code_of(variants[2]).find(precision), std::string::npos);
  EXPECT_EQ(find_axis_value("setting", variants[3]), "cold");
  EXPECT_EQ(find_axis_value("setting", variants[2]), "default");
}

TEST(Declarations, ErrorsHavePlaces) {
  EXPECT_EQ(errors_in("[[backend]]\nname = 'eager'\n"),
            "a.toml:3:8: `eager` is a backend of instr_bench: give this one another name\n");
  EXPECT_HAS(errors_in("[[backend]]\nname = 'a/b'\n"), "a.toml:3:8: `a/b` is not a name");
  EXPECT_HAS(errors_in("[[backend]]\nname = 'a'\nimport = 'a b'\n"), "a.toml:4:10: `a b` is not");
  EXPECT_HAS(errors_in("[[backend]]\nname = 'a'\nmode = 'm'\noptions = { b = 1 }\n"),
             "a.toml:5:11: torch.compile() takes either `mode` or `options`");
  EXPECT_HAS(errors_in("[[backend]]\nname = 'a'\noptions = { b = 2020-01-01 }\n"),
             "a.toml:4:17: this is a date or time");
  EXPECT_HAS(errors_in("[[backend]]\nname = 'a'\n[[backend]]\nname = 'a'\n"),
             "a.toml:4:1: two backends have the name `a`; the other is at");
  EXPECT_HAS(errors_in("[[setting]]\nname = 'a'\n"), "a.toml:2:1: the setting `a` sets nothing");
  EXPECT_HAS(errors_in("[[setting]]\nname = 'default'\ntorch = 'x'\n"), "a.toml:3:8: `default` is");
  EXPECT_HAS(errors_in("[[setting]]\nname = 'a'\nenvironment = { OMP_NUM_THREADS = '1' }\n"),
             "a.toml:4:17: OMP_NUM_THREADS is read before a setting takes effect");
  const auto unknown = find_settings(
      {"freezng"}, {.settings = {std::make_shared<Setting>(Setting{.name = "freezing"})}});
  ASSERT_FALSE(unknown);
  EXPECT_HAS(unknown.error().advice, "did you mean `freezing`?");
}

// A file of results may name a backend that this program does not know.
TEST(Declarations, AnUnknownBackendOfAKeyIsNotEager) {
  EXPECT_STREQ(to_string(parse_key("a/py/hidet/forward/t1/cpu").backend), "hidet");
  EXPECT_FALSE(parse_backend("-x"));
  EXPECT_FALSE(parse_backend("a,b"));
  EXPECT_FALSE(parse_backend("a:b:c"));
}

}  // namespace
}  // namespace instr::declarations_test
