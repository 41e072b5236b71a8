#include <regex>

#include "core/compile/compiled_variant.h"
#include "core/compile/cpp/generate_cpp.h"
#include "tests/golden.h"

namespace instr::generate_test {
namespace {

Variant variant() {
  Variant result;
  result.key = "add/eager/forward/t1/cpu";
  result.where = {"a.toml", 3, 1};
  result.setups = {Text{"auto x = torch::ones({4});", {"a.toml", 4, 10}}};
  result.stmt = Text{"auto y = x + x;", {"a.toml", 5, 9}};
  return result;
}

Variant script() {
  Variant result = variant();
  result.backend = Backend::kTorchScript;
  result.torchscript = Text{"y = x + x", {"a.toml", 6, 16}};
  result.signature = Signature{{"x"}, "y", {"a.toml", 7, 14}};
  return result;
}

// Returns the code that g++ emits, without second callers and functions that are never emitted.
std::string source(const std::vector<Variant>& variants, Purpose purpose = Purpose::kMeasure) {
  std::string text = generate_unit(variants, purpose);
  const std::string open = "#ifdef __clang__\n";
  for (auto at = text.find(open); at != std::string::npos; at = text.find(open)) {
    text.erase(at, text.find("#endif\n", at) + 7 - at);
  }
  for (auto at = text.find("INSTR_NEVER_EMITTED"); at != std::string::npos;
       at = text.find("INSTR_NEVER_EMITTED")) {
    at = text.rfind("namespace ", at);
    text.erase(at, text.find("}}}\n", at) + 4 - at);
  }
  return text;
}

// Replaces the variant's symbol, which is a hash of the code, by a name, and puts the place of a
// text on the text's own line.
std::string readable(std::string text, const Variant& one, Purpose purpose) {
  const std::string symbol = make_snippet_symbol(one, purpose);
  for (auto at = text.find(symbol); at != std::string::npos; at = text.find(symbol)) {
    text.replace(at, symbol.size(), "SYMBOL");
  }
  text = std::regex_replace(text, std::regex("#line (\\d+) \"@SYMBOL:(.*)\"\n"), "$2:$1|");
  return std::regex_replace(text, std::regex("\n\n+"), "\n");
}

// Returns the variant's own function, without the places of generated code, which follow all
// texts of the user.
std::string shown(const Variant& one, Purpose purpose = Purpose::kMeasure) {
  std::string text = readable(source({one}, purpose), one, purpose);
  const std::string place = ":1|";
  for (auto at = text.find(place); at != std::string::npos; at = text.find(place, at)) {
    text.erase(at, place.size());
  }
  return text.substr(text.find("namespace instr_unit_"));
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

bool contains(const std::string& text, const std::string& part) { return count(text, part) > 0; }

TEST(SnippetSymbol, DependsOnTheCodeAlone) {
  const std::string symbol = make_snippet_symbol(variant());
  EXPECT_EQ(symbol.size(), std::string("instr_snippet_").size() + 32);
  Variant same = variant();
  same.key = "other";
  same.label = "other";
  same.threads = 2;
  same.where.line = 30;
  same.stmt->where = {"b.toml", 50, 1};
  same.setups[0].where.column = 1;
  same.tags = {"slow"};
  same.torchscript = Text{"y = x", {}};  // for another backend
  EXPECT_EQ(make_snippet_symbol(same), symbol);
}

TEST(SnippetSymbol, ChangesWithEveryInputOfTheCode) {
  std::vector<Variant> variants(9, script());
  variants[1].setups[0].code += " ";
  variants[2].torchscript->code = "y = x * x";
  variants[3].signature->arguments.push_back("z");
  variants[4].signature->output = "z";
  variants[5].global_setups = {Text{"int z;", {}}};
  variants[6].module = Text{"Net()", {}};
  variants[7].autograd = Autograd::kForwardBackward;
  variants[8] = variants[7];
  variants[8].reduce = "sum";
  Variant stmt = variant();
  variants.push_back(stmt);
  stmt.stmt->code = "auto y = x - x;";
  variants.push_back(stmt);
  auto build = std::make_shared<BuildOptions>();
  build->flags = {"-march=haswell"};
  stmt.build = build;
  variants.push_back(stmt);
  // Two texts differ from their concatenation.
  stmt.setups = {Text{"int a;\n", {}}, Text{"int b;", {}}};
  variants.push_back(stmt);
  std::vector<std::string> symbols;
  for (const auto& one : variants) symbols.push_back(make_snippet_symbol(one));
  std::sort(symbols.begin(), symbols.end());
  EXPECT_EQ(std::adjacent_find(symbols.begin(), symbols.end()), symbols.end());
}

TEST(GenerateUnit, PutsTheUsersTextAtItsPlace) {
  EXPECT_GOLDEN("generate/statement.txt", shown(variant()));
}

TEST(GenerateUnit, QuotesFileNames) {
  Variant one = variant();
  one.stmt->where.file = "odd \"name\"\\.toml";
  EXPECT_TRUE(contains(source({one}), ":odd \\\"name\\\"\\\\.toml\"\n"));
}

TEST(GenerateUnit, ContainsEqualCodeOnce) {
  Variant two_threads = variant();
  two_threads.threads = 2;
  const std::string text = source({variant(), two_threads});
  EXPECT_EQ(count(text, "auto y = x + x;"), 1u);
}

TEST(GenerateUnit, TheCodeOfAVariantDoesNotDependOnOtherVariants) {
  Variant other = variant();
  other.stmt->code = "x.add_(1);";
  const std::string alone = source({variant()});
  const std::string together = source({other, variant()});
  EXPECT_TRUE(contains(together, alone.substr(alone.find("#line 1 \"@instr_snippet_"))));
}

TEST(GenerateUnit, HoistsIncludesOfAGlobalSetup) {
  Variant one = variant();
  one.global_setups = {
      Text{"\n#include <numeric>\nint f() { return 1; }\n  # include \"a.h\"", {"a.toml", 9, 1}}};
  Variant two = one;
  two.stmt->code = "f();";
  const std::string text = source({one, two});
  EXPECT_EQ(
      text.rfind("#line 9 \"@shared:a.toml\"\n\n#include <numeric>\n\n  # include \"a.h\"\n", 0),

      0u);
  EXPECT_EQ(count(text, "int f()"), 1u);
  EXPECT_LT(text.find("# include \"a.h\""), text.find("namespace instr_unit_"));
  // The includes leave blank lines, so that the text after them keeps its line.
  EXPECT_TRUE(contains(text, "#line 9 \"@shared:a.toml\"\n\n\nint f() { return 1; }\n\n"));
  EXPECT_EQ(count(text, "namespace instr_unit_"), 3u);
}

TEST(GenerateUnit, NamesTheArgumentsAtTheSignature) {
  Variant one = variant();
  one.signature = Signature{{"x", "w"}, "y", {"a.toml", 7, 14}};
  EXPECT_GOLDEN("generate/statement_with_a_signature.txt", shown(one));
}

TEST(GenerateUnit, CallsAModule) {
  Variant one = variant();
  one.stmt.reset();
  one.module = Text{"torch::nn::Linear(4, 2)", {"a.toml", 8, 11}};
  one.signature = Signature{{"x"}, "y", {"a.toml", 7, 14}};
  EXPECT_GOLDEN("generate/module.txt", shown(one));
}

TEST(GenerateUnit, WritesTheTextOfForward) {
  Variant one = script();
  one.torchscript->code =
      "\n    if x.dim() == 1:\n        y = x + \"\\n\"\n\n    else:\n        y = x";
  EXPECT_GOLDEN("generate/script.txt", shown(one));
  one.module = Text{"Net()", {"a.toml", 8, 11}};
  EXPECT_GOLDEN("generate/script_of_a_module.txt", shown(one));
}

TEST(GenerateUnit, TracesAModuleWithoutABody) {
  Variant one = script();
  one.module = Text{"M()", {}};
  one.stmt.reset();
  one.torchscript->code = "";
  EXPECT_GOLDEN("generate/traced_module.txt", shown(one));
}

TEST(GenerateUnit, ReplaysACapturedGraph) {
  Variant one = script();
  one.backend = Backend::kCudaGraph;
  one.signature->arguments = {"x", "n"};
  EXPECT_GOLDEN("generate/cuda_graph.txt", shown(one));
  EXPECT_GOLDEN("generate/cuda_graph_verified.txt", shown(one, Purpose::kVerify));
  EXPECT_EQ(count(source({one}), "#include <ATen/cuda/CUDAGraph.h>"), 1u);
  EXPECT_FALSE(contains(generate_unit(std::vector{script()}), "CUDA"));
}

TEST(GenerateUnit, TriesBackwardOnceAndThenMeasuresIt) {
  Variant one = variant();
  one.autograd = Autograd::kForwardBackward;
  one.signature = Signature{{"x"}, "y", {"a.toml", 7, 14}};
  EXPECT_GOLDEN("generate/backward.txt", shown(one));
  one.reduce = "sum";
  EXPECT_GOLDEN("generate/backward_of_a_sum.txt", shown(one));
  EXPECT_FALSE(contains(source({variant()}), "instr_trial_"));
  one.module = Text{"Net()", {}};
  EXPECT_FALSE(contains(source({one}), "eval()"));
  one.autograd = Autograd::kForwardBackwardEval;
  EXPECT_TRUE(contains(shown(one), "; instr_module->eval();"));
  EXPECT_TRUE(contains(shown(one, Purpose::kVerify), "; instr_module->eval();"));
}

TEST(GenerateUnit, HandsOverVerifiedValues) {
  Variant one = variant();
  one.autograd = Autograd::kForwardBackward;
  one.signature = Signature{{"x", "w"}, "y", {"a.toml", 7, 14}};
  EXPECT_GOLDEN("generate/backward_verified.txt", shown(one, Purpose::kVerify));
  EXPECT_GOLDEN("generate/script_verified.txt", shown(script(), Purpose::kVerify));
}

TEST(GenerateUnit, AutocastIsAroundTheForwardPassAndTheLoss) {
  Variant one = script();
  one.autograd = Autograd::kForwardBackward;
  one.reduce = "sum";
  one.params = {{"dtype", "amp"}};
  EXPECT_GOLDEN("generate/autocast_of_a_script.txt", shown(one));
  EXPECT_GOLDEN("generate/autocast_verified.txt", shown(one, Purpose::kVerify));
  one.backend = Backend::kEager;
  one.device = "cuda";
  EXPECT_GOLDEN("generate/autocast_on_cuda.txt", shown(one));
}

// Contains the second callers for Clang, and the statement once more without a loop.
TEST(GenerateUnit, HasAllCallersOfAStatement) {
  const Variant one = variant();
  EXPECT_GOLDEN("generate/all_callers.txt",
                readable(generate_unit(std::vector{one}), one, Purpose::kMeasure));
}

}  // namespace
}  // namespace instr::generate_test
