// Generates the texts of variants in Python, and maps their lines back to the TOML.
#include "core/compile/python/generate_python.h"

#include "core/compile/compiled_variant.h"
#include "tests/golden.h"
#include "tests/testing.h"

namespace instr::generate_python_test {
namespace {

Variant in_python(Backend backend = Backend::kEager, Autograd autograd = Autograd::kForward) {
  Variant variant;
  variant.language = Language::kPython;
  variant.backend = backend;
  variant.autograd = autograd;
  variant.global_setups = {{"import math\n", {"a.toml", 2, 21}}};
  variant.setups = {{"    x = torch.ones(4)\n    w = x\n", {"a.toml", 10, 1}}};
  variant.stmt = Text{"y = torch.relu(x)", {"a.toml", 20, 12}};
  variant.torchscript = variant.stmt;
  variant.signature = Signature{{"x"}, "y", {"a.toml", 22, 14}};
  return variant;
}

// Formats the texts of each part of the snippet below the part's name.
std::string shown(const PythonSnippet& snippet) {
  std::string text;
  for (const auto& [part, texts] : {std::pair{"module", &snippet.module},
                                    {"setup", &snippet.setup},
                                    {"statement", &snippet.statement}}) {
    if (!texts->empty()) text += std::string("# ") + part + "\n";
    for (const Text& one : *texts) text += one.code + (one.code.ends_with('\n') ? "" : "\n");
  }
  return text;
}

TEST(PythonSnippet, HasTheTextsAsWritten) {
  EXPECT_GOLDEN("python/statement.txt", shown(make_python_snippet(in_python())));
}

TEST(PythonSnippet, BackwardFollowsTheStatement) {
  Variant variant = in_python(Backend::kEager, Autograd::kForwardBackward);
  EXPECT_GOLDEN("python/backward.txt", shown(make_python_snippet(variant)));
  variant.reduce = "sum";
  EXPECT_GOLDEN("python/backward_of_a_sum.txt", shown(make_python_snippet(variant)));
}

TEST(PythonSnippet, AModuleIsMadeOnceAndCalled) {
  Variant variant = in_python();
  variant.stmt.reset();
  variant.module = Text{"\n  torch.nn.ReLU()\n", {"a.toml", 18, 13}};
  const PythonSnippet snippet = make_python_snippet(variant);
  EXPECT_GOLDEN("python/module.txt", shown(snippet));
  EXPECT_EQ(to_string(snippet.setup.back().where), "a.toml:19:3");
  variant.autograd = Autograd::kForwardBackward;
  EXPECT_GOLDEN("python/backward_of_a_module.txt", shown(make_python_snippet(variant)));
  variant.autograd = Autograd::kForwardBackwardEval;
  EXPECT_GOLDEN("python/backward_of_a_module_in_eval.txt", shown(make_python_snippet(variant)));
}

TEST(PythonSnippet, TorchScriptIsMadeFromStatementOrModuleAndWarmedUp) {
  Variant variant = in_python(Backend::kTorchScript);
  EXPECT_GOLDEN("python/script_of_the_statement.txt", shown(make_python_snippet(variant)));
  variant.module = Text{"torch.nn.ReLU()", {}};
  EXPECT_GOLDEN("python/script_of_the_module.txt", shown(make_python_snippet(variant)));
}

TEST(PythonSnippet, ACompiledFunctionHasTheStatementAtItsPlace) {
  const PythonSnippet snippet = make_python_snippet(in_python(Backend::kInductor));
  EXPECT_GOLDEN("python/inductor.txt", shown(snippet));
  // The module setup and the setup are texts 1 and 2.
  EXPECT_EQ(to_string(*find_place_in_python(snippet, 5 * kPythonLines + 2)), "a.toml:20:5");
  EXPECT_HAS(shown(make_python_snippet(in_python(Backend::kInductorMaxAutotune))),
             "backend=\"inductor\", mode=\"max-autotune");
}

TEST(PythonSnippet, CompilingIsTheStatementIfThatIsCounted) {
  Variant variant = in_python(Backend::kDynamo, Autograd::kForwardBackward);
  variant.compiles = true;
  EXPECT_GOLDEN("python/compiling.txt", shown(make_python_snippet(variant)));
}

// XLA is lazy: it computes only results that are referenced, at the latest when they are waited
// for.
TEST(PythonSnippet, OnXlaArgumentsAreMovedAndEachIterationIsWaitedFor) {
  Variant variant = in_python(Backend::kXla);
  EXPECT_GOLDEN("python/xla.txt", shown(make_python_snippet(variant)));
  variant.module = Text{"torch.nn.ReLU()", {}};
  variant.backend = Backend::kOpenXla;
  variant.autograd = Autograd::kForwardBackward;
  variant.params = {{"dtype", "amp"}};
  EXPECT_GOLDEN("python/openxla_with_autocast.txt", shown(make_python_snippet(variant)));
}

TEST(PythonSnippet, AnOptimizerTakesAStepInEachIteration) {
  Variant variant = in_python(Backend::kDynamo, Autograd::kForwardBackward);
  variant.stmt.reset();
  variant.module = Text{"torch.nn.Linear(4, 4)", {}};
  variant.optimizer = Text{"torch.optim.SGD(params, lr=0.01)", {}};
  EXPECT_GOLDEN("python/optimizer.txt", shown(make_python_snippet(variant)));
  EXPECT_EQ(shown(make_python_snippet(variant, Purpose::kVerify)).find("optimizer"),
            std::string::npos);
}

TEST(PythonSnippet, AMemoryFormatIsThatOfTheModuleAndItsArguments) {
  Variant variant = in_python(Backend::kDynamo);
  variant.module = Text{"torch.nn.ReLU()", {}};
  variant.params = {{"memory_format", "channels_last"}};
  const std::string changed =
      "instr_module_ = (torch.nn.ReLU())\nimport instr_native_code\n"
      "[x, instr_module_] = instr_native_code.in_channels_last(x, instr_module_)\n";
  EXPECT_HAS(shown(make_python_snippet(variant)), changed);
  EXPECT_HAS(shown(make_python_snippet(variant, Purpose::kVerify)), changed);
}

TEST(PythonSnippet, ABackendThatKeepsNoGradientsRecordsNone) {
  EXPECT_GOLDEN("python/openvino.txt", shown(make_python_snippet(in_python(Backend::kOpenVino))));
}

TEST(PythonSnippet, TheBestBackendTimesThePassesThatRun) {
  Variant variant = in_python(Backend::kBest);
  EXPECT_GOLDEN("python/best.txt", shown(make_python_snippet(variant)));
  for (const Autograd autograd : {Autograd::kForwardBackward, Autograd::kForwardBackwardEval}) {
    variant.autograd = autograd;
    EXPECT_HAS(shown(make_python_snippet(variant)), "instr_best.has_backward = True");
  }
}

TEST(PythonSnippet, TracesTheStatementAsAFunction) {
  Variant variant = in_python(Backend::kTraced);
  variant.torchscript.reset();
  EXPECT_GOLDEN("python/traced.txt", shown(make_python_snippet(variant)));
}

TEST(PythonSnippet, AScriptIsPreparedAsInCpp) {
  EXPECT_GOLDEN("python/frozen.txt", shown(make_python_snippet(in_python(Backend::kFrozen))));
  EXPECT_GOLDEN("python/fused.txt", shown(make_python_snippet(in_python(Backend::kFused))));
  Variant variant = in_python(Backend::kOptimized);
  variant.module = Text{"torch.nn.ReLU()", {}};
  EXPECT_GOLDEN("python/optimized_module_verified.txt",
                shown(make_python_snippet(variant, Purpose::kVerify)));
  variant = in_python(Backend::kFrozen);
  variant.torchscript.reset();
  EXPECT_GOLDEN("python/frozen_trace.txt", shown(make_python_snippet(variant)));
}

TEST(PythonSnippet, APackageIsLoadedAndCalledInPlaceOfTheModule) {
  Variant variant = in_python(Backend::kAoti);
  variant.module = Text{"torch.nn.ReLU()", {"a.toml", 18, 13}};
  variant.made_package = {"/packages/counted.pt2", "/packages/native.pt2"};
  EXPECT_GOLDEN("python/package.txt", shown(make_python_snippet(variant)));
  EXPECT_GOLDEN("python/package_verified.txt",
                shown(make_python_snippet(variant, Purpose::kVerify)));
  variant.package = Text{"/own.pt2", {}};
  EXPECT_HAS(shown(make_python_snippet(variant)), "instr_load_package_(\"/own.pt2\")");
}

TEST(PythonSnippet, ExportsTheStatementAtItsPlaceOrTheModule) {
  Variant variant = in_python(Backend::kAoti);
  const PythonSnippet snippet = make_export_snippet(variant);
  EXPECT_GOLDEN("python/exported.txt", shown(snippet));
  EXPECT_EQ(to_string(*find_place_in_python(snippet, 3 * kPythonLines + 2)), "a.toml:20:5");
  variant.module = Text{"torch.nn.ReLU()", {}};
  EXPECT_GOLDEN("python/exported_module.txt", shown(make_export_snippet(variant)));
}

TEST(PythonSnippet, AutocastIsAroundTheForwardPassAndTheLoss) {
  Variant variant = in_python();
  variant.params = {{"dtype", "amp"}};
  EXPECT_GOLDEN("python/autocast.txt", shown(make_python_snippet(variant)));
  variant.autograd = Autograd::kForwardBackward;
  variant.reduce = "sum";
  EXPECT_GOLDEN("python/autocast_and_backward.txt", shown(make_python_snippet(variant)));
  EXPECT_GOLDEN("python/autocast_and_backward_verified.txt",
                shown(make_python_snippet(variant, Purpose::kVerify)));
}

TEST(PythonSnippet, AVerifierHandsOverTheOutputAndTheGradients) {
  Variant variant = in_python(Backend::kEager, Autograd::kForwardBackward);
  const PythonSnippet snippet = make_python_snippet(variant, Purpose::kVerify);
  EXPECT_GOLDEN("python/verified.txt", shown(snippet));
  EXPECT_TRUE(make_python_symbol(snippet).starts_with("instr_verify_"));
}

TEST(PythonSnippet, TheSymbolDependsOnTheCodeAlone) {
  Variant variant = in_python();
  const std::string symbol = make_python_symbol(make_python_snippet(variant));
  EXPECT_TRUE(symbol.starts_with("instr_snippet_"));
  variant.threads = 2;
  variant.label = "other";
  variant.stmt->where.line = 99;
  EXPECT_EQ(make_python_symbol(make_python_snippet(variant)), symbol);
  variant.stmt->code += " ";
  EXPECT_NE(make_python_symbol(make_python_snippet(variant)), symbol);
  // Moving a line from one text to another changes the code.
  Variant moved = in_python();
  moved.setups.push_back(moved.global_setups.front());
  moved.global_setups.clear();
  EXPECT_NE(make_python_symbol(make_python_snippet(moved)), symbol);
}

TEST(PythonSnippet, MapsLinesToTheToml) {
  const PythonSnippet snippet =
      make_python_snippet(in_python(Backend::kEager, Autograd::kForwardBackward));
  const auto place = [&](int line, int column = 0) {
    auto found = find_place_in_python(snippet, line, column);
    return found ? to_string(*found) : "nowhere";
  };
  EXPECT_EQ(place(1 * kPythonLines + 1), "a.toml:2:21");
  // A line whose indentation was removed: column 0 is its first character, others count behind it.
  EXPECT_EQ(place(2 * kPythonLines + 2), "a.toml:11:5");
  EXPECT_EQ(place(2 * kPythonLines + 2, 5), "a.toml:11:9");
  EXPECT_EQ(place(3 * kPythonLines + 1, 5), "a.toml:20:16");
  EXPECT_EQ(place(4 * kPythonLines + 1), "nowhere");  // backward() is generated
  EXPECT_EQ(place(5 * kPythonLines + 1), "nowhere");
  EXPECT_EQ(place(3), "nowhere");  // the loop
  EXPECT_EQ(place(0), "nowhere");
}

}  // namespace
}  // namespace instr::generate_python_test
