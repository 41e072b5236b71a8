// The report of torch.compile(), from the worker's JSON to a line of results, and back.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/compile/python/generate_python.h"
#include "core/measure/parse_reply.h"
#include "core/results/profile_json.h"

namespace instr::compiler_report_test {
namespace {

using Json = nlohmann::ordered_json;

Variant compiled() {
  Variant variant;
  variant.language = Language::kPython;
  variant.backend = Backend::kInductor;
  variant.setups = {{"x = torch.ones(4)", {"a.toml", 10, 1}}};
  variant.stmt = Text{"print(x)\ny = x + 1", {"a.toml", 20, 1}};
  variant.signature = Signature{{"x"}, "y", {"a.toml", 22, 14}};
  return variant;
}

Json note(const std::string& file, int line, const std::string& text) {
  return {{"file", file}, {"line", line}, {"text", text}, {"count", 2}};
}

// Lines of code are counted from kPythonLines for each text: setup, function, ...
TEST(CompilerReport, PlacesAreThoseOfTheDefinition) {
  const Json json{{"breaks",
                   {note("<snippet>", 4 * kPythonLines + 2,
                         "Graph break in user code at <snippet>:200002\nGraph Break Reason: Failed "
                         "to\n\n  trace `print`\n\n For more details about this graph break, see "
                         "elsewhere\n\nUser code traceback:\n  File \"<snippet>\"")}},
                  {"recompiles",
                   {note("torch/nn/linear.py", 134,
                         "Recompiling function forward in torch/nn/linear.py:134\n    triggered by "
                         "the following guard failure(s):\n    - 0/0: x.size()[0] == 4\n    - User "
                         "stack trace:\n    -   File")}},
                  {"counters", {{"frames", {{"total", 3}}}, {"odd", {{"text", "no number"}}}}}};
  const CompilerReport report = parse_compiler_report(json.dump(), compiled());
  EXPECT_EQ(report.graph_breaks,
            (std::vector<CompilerNote>{{"a.toml:20:5", "Failed to trace `print`", 2}}));
  EXPECT_EQ(report.recompilations,
            (std::vector<CompilerNote>{{"torch/nn/linear.py:134", "0/0: x.size()[0] == 4", 2}}));
  EXPECT_EQ(report.counters.size(), 1u);
  EXPECT_EQ(report.counters.at("frames").at("total"), 3);
}

TEST(CompilerReport, ReasonsNameTheTomlFileInsteadOfGeneratedCode) {
  const int line = 4 * kPythonLines + 3;
  const std::string traceback = "torn at <snippet>:" + std::to_string(line) +
                                ", File \"<snippet>\", line " + std::to_string(line) +
                                ", in instr_function_; L['instr_module_'], <snippet>:7";
  const Json json{{"recompiles", {note("", 0, traceback)}}};
  EXPECT_EQ(parse_compiler_report(json.dump(), compiled()).recompilations,
            (std::vector<CompilerNote>{{"",
                                        "torn at a.toml:21, File a.toml:21, in the statement; "
                                        "L['the module'], the snippet",
                                        2}}));
}

// As instr_compiler.py reports it with torch_xla 2.9.0, of a model that calls torch.unique().
TEST(CompilerReport, NamesTheOperatorsThatXlaHasNoCodeFor) {
  const CompilerReport report = parse_compiler_report(
      R"({"breaks": [], "recompiles": [], "counters": {"frames": {"total": 1, "ok": 1},)"
      R"( "aot_autograd": {"total": 1, "ok": 1}}, "unlowered": {"aten::_unique2": 4}})",
      compiled());
  EXPECT_EQ(report.unlowered, (std::map<std::string, std::uint64_t>{{"aten::_unique2", 4}}));
  EXPECT_TRUE(
      parse_compiler_report(R"({"unlowered": ["aten::_unique2"]})", compiled()).unlowered.empty());
}

// As instr_best.py reports them.
TEST(CompilerReport, NamesTheBackendOfEachGraph) {
  const CompilerReport report = parse_compiler_report(
      R"({"choices": [{"chosen": "inductor", "times": {"eager": 7958.5, "inductor": 6894},)"
      R"( "failures": {"torchscript": "TypeError: a\nb"}}, {"chosen": "eager", "times": {},)"
      R"( "failures": {}}, {"times": {}}, 3]})",
      compiled());
  ASSERT_EQ(report.choices.size(), 2u);
  EXPECT_EQ(report.choices[0], (GraphChoice{"inductor",
                                            {{"eager", 7958.5}, {"inductor", 6894}},
                                            {{"torchscript", "TypeError: a b"}}}));
  EXPECT_EQ(report.choices[1], GraphChoice{"eager"});
}

TEST(CompilerReport, ReasonsStayShort) {
  const Json json{{"breaks", {note("", 0, std::string(5000, 'x'))}}};
  const CompilerReport report = parse_compiler_report(json.dump(), compiled());
  ASSERT_EQ(report.graph_breaks.size(), 1u);
  EXPECT_LT(report.graph_breaks[0].reason.size(), kMaxReasonLength + 4);
  EXPECT_EQ(report.graph_breaks[0].place, "");
}

TEST(CompilerReport, MalformedPartsAreLeftOut) {
  EXPECT_EQ(parse_compiler_report("no JSON", compiled()), CompilerReport{});
  EXPECT_EQ(parse_compiler_report("[]", compiled()), CompilerReport{});
  const Json json{{"breaks", {{{"file", 3}}, 7, note("a.py", 1, "why")}},
                  {"recompiles", 5},
                  {"counters", {{"frames", 1}}}};
  const CompilerReport report = parse_compiler_report(json.dump(), compiled());
  EXPECT_EQ(report.graph_breaks, (std::vector<CompilerNote>{{"a.py:1", "why", 2}}));
  EXPECT_TRUE(report.recompilations.empty());
  EXPECT_TRUE(report.counters.empty());
}

TEST(CompilerReport, IsPartOfALineOfResults) {
  const CompilerReport report{{{"a.toml:20:1", "print", 2}, {"", "loop", 1}},
                              {{"b.py:3", "size", 1}},
                              {{"aten::_unique2", 2}},
                              {{"frames", {{"ok", 2}, {"total", 3}}}}};
  const Json json = to_json(report);
  EXPECT_EQ(json.at("graph_breaks").at(0),
            (Json{{"place", "a.toml:20:1"}, {"reason", "print"}, {"count", 2}}));
  EXPECT_EQ(json.at("unlowered"), (Json{{"aten::_unique2", 2}}));
  EXPECT_EQ(json.at("counters").at("frames").at("total"), 3);
  EXPECT_TRUE(to_json(CompilerReport{}).empty());
}

}  // namespace
}  // namespace instr::compiler_report_test
