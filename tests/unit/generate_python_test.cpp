// Variants in Python to the texts that are compiled, and lines of these back to the TOML.
#include "core/compile/generate_python.h"

#include <gtest/gtest.h>

namespace instr::generate_python_test {
namespace {

Variant in_python(Runtime runtime = Runtime::kEager, Autograd autograd = Autograd::kForward) {
  Variant variant;
  variant.language = Language::kPython;
  variant.runtime = runtime;
  variant.autograd = autograd;
  variant.module_setups = {{"import math\n", {"a.toml", 2, 21}}};
  variant.setups = {{"    x = torch.ones(4)\n    w = x\n", {"a.toml", 10, 1}}};
  variant.stmt = Text{"y = torch.relu(x)", {"a.toml", 20, 12}};
  variant.torchscript = variant.stmt;
  variant.signature = Signature{{"x"}, "y", {"a.toml", 22, 14}};
  return variant;
}

std::vector<std::string> codes(const std::vector<Text>& texts) {
  std::vector<std::string> all;
  for (const Text& text : texts) all.push_back(text.code);
  return all;
}

using Codes = std::vector<std::string>;

TEST(PythonSnippet, HasTheTextsAsWritten) {
  const PythonSnippet snippet = python_snippet(in_python());
  EXPECT_EQ(codes(snippet.module), Codes{"import math\n"});
  EXPECT_EQ(codes(snippet.setup), Codes{"    x = torch.ones(4)\n    w = x\n"});
  EXPECT_EQ(codes(snippet.statement), Codes{"y = torch.relu(x)"});
}

TEST(PythonSnippet, BackwardFollowsTheStatement) {
  Variant variant = in_python(Runtime::kEager, Autograd::kForwardBackward);
  EXPECT_EQ(codes(python_snippet(variant).statement), (Codes{"y = torch.relu(x)", "y.backward()"}));
  variant.reduce = "sum";
  EXPECT_EQ(codes(python_snippet(variant).statement).back(), "y.sum().backward()");
}

TEST(PythonSnippet, AModuleIsMadeOnceAndCalled) {
  Variant variant = in_python();
  variant.stmt.reset();
  variant.module = Text{"\n  torch.nn.ReLU()\n", {"a.toml", 18, 13}};
  const PythonSnippet snippet = python_snippet(variant);
  EXPECT_EQ(snippet.setup.back().code, "instr_module_ = (torch.nn.ReLU())");
  EXPECT_EQ(to_string(snippet.setup.back().where), "a.toml:19:3");
  EXPECT_EQ(codes(snippet.statement), Codes{"instr_module_(x)"});
  variant.autograd = Autograd::kForwardBackward;
  EXPECT_EQ(codes(python_snippet(variant).statement),
            (Codes{"y = instr_module_(x)", "y.backward()"}));
}

TEST(PythonSnippet, TorchScriptIsMadeOfTheStatementOrTheModuleAndWarm) {
  Variant variant = in_python(Runtime::kTorchScript);
  PythonSnippet snippet = python_snippet(variant);
  ASSERT_EQ(snippet.setup.size(), 9u);
  EXPECT_EQ(snippet.setup[1].code, "instr_simulate_(False)");
  EXPECT_EQ(snippet.setup[2].code, "instr_mark_(0)");
  EXPECT_EQ(snippet.setup[3].code,
            "instr_script_ = torch.jit.CompilationUnit(\"def instr_function(x):\\n    y = "
            "torch.relu(x)\\n    return y\\n\").instr_function");
  EXPECT_EQ(snippet.setup[4].code, "for instr_trial_ in range(1):\n    instr_script_(x)\n");
  EXPECT_EQ(snippet.setup[6].code, "for instr_trial_ in range(11):\n    instr_script_(x)\n");
  EXPECT_EQ(codes(snippet.statement), Codes{"instr_script_(x)"});
  variant.module = Text{"torch.nn.ReLU()", {}};
  snippet = python_snippet(variant);
  EXPECT_EQ(snippet.setup[4].code, "instr_script_ = torch.jit.script(instr_module_)");
}

TEST(PythonSnippet, ACompiledFunctionHasTheStatementAtItsPlace) {
  PythonSnippet snippet = python_snippet(in_python(Runtime::kInductor));
  ASSERT_EQ(snippet.setup.size(), 10u);
  EXPECT_EQ(snippet.setup[1].code, "instr_simulate_(False)");
  EXPECT_EQ(snippet.setup[3].code,
            "def instr_function_(x):\n    y = torch.relu(x)\n    return y\n");
  // Its module setup and setup are texts 1 and 2.
  EXPECT_EQ(to_string(*place_in_python(snippet, 5 * kPythonLines + 2)), "a.toml:20:5");
  EXPECT_EQ(snippet.setup[4].code,
            "instr_script_ = torch.compile(instr_function_, backend=\"inductor\")");
  EXPECT_EQ(snippet.setup.back().code, "instr_simulate_(True)");
  snippet = python_snippet(in_python(Runtime::kInductorMaxAutotune));
  EXPECT_EQ(snippet.setup[4].code,
            "instr_script_ = torch.compile(instr_function_, backend=\"inductor\", "
            "mode=\"max-autotune\")");
}

// What XLA records is only computed where something holds it, and by the time that is waited for.
TEST(PythonSnippet, OnXlaArgumentsAreMovedAndEachIterationIsWaitedFor) {
  Variant variant = in_python(Runtime::kXla);
  PythonSnippet snippet = python_snippet(variant);
  ASSERT_EQ(snippet.setup.size(), 11u);
  EXPECT_EQ(snippet.setup[1].code, "import instr_xla\n[x] = instr_xla.moved(x)");
  EXPECT_EQ(snippet.setup[5].code, "instr_script_ = instr_function_");
  EXPECT_EQ(codes(snippet.statement), (Codes{"y = instr_script_(x)", "instr_xla.wait(y)"}));
  variant.module = Text{"torch.nn.ReLU()", {}};
  variant.runtime = Runtime::kOpenXla;
  variant.autograd = Autograd::kForwardBackward;
  variant.params = {{"dtype", "amp"}};
  snippet = python_snippet(variant);
  EXPECT_EQ(snippet.setup[2].code,
            "import instr_xla\n[x, instr_module_] = instr_xla.moved(x, instr_module_)");
  EXPECT_EQ(snippet.setup[4].code, "import instr_compiler\ninstr_compiler.load(\"openxla\")");
  EXPECT_EQ(snippet.setup[6].code,
            "instr_script_ = torch.compile(instr_module_, backend=\"openxla\")");
  EXPECT_EQ(snippet.statement.front().code,
            "instr_autocast_ = torch.autocast(\"xla\")\ninstr_autocast_.__enter__()");
  EXPECT_EQ(codes(snippet.statement).back(), "instr_xla.wait(y)");
}

TEST(PythonSnippet, ABackendThatKeepsNoGradientsRecordsNone) {
  const PythonSnippet snippet = python_snippet(in_python(Runtime::kOpenVino));
  const Codes setup = codes(snippet.setup);
  const auto at = std::find(setup.begin(), setup.end(), "torch.set_grad_enabled(False)");
  ASSERT_LT(at + 1, setup.end());
  EXPECT_EQ(at[1], "import instr_compiler\ninstr_compiler.load(\"openvino\")");
  EXPECT_NE(setup[6].find("backend=\"openvino\", options={\"aot_autograd\": True"),
            std::string::npos)
      << setup[6];
}

TEST(PythonSnippet, ATracedFunctionIsTheStatementToo) {
  Variant variant = in_python(Runtime::kTraced);
  variant.torchscript.reset();
  const PythonSnippet snippet = python_snippet(variant);
  EXPECT_EQ(snippet.setup[3].code,
            "def instr_function_(x):\n    y = torch.relu(x)\n    return y\n");
  EXPECT_EQ(snippet.setup[4].code,
            "instr_script_ = torch.jit.trace(instr_function_, (x,), check_trace=False)");
  EXPECT_EQ(codes(snippet.statement), Codes{"instr_script_(x)"});
}

TEST(PythonSnippet, AutocastIsAroundTheForwardPassAndTheLoss) {
  const std::string enter =
      "instr_autocast_ = torch.autocast(\"cpu\")\ninstr_autocast_.__enter__()";
  const std::string leave = "instr_autocast_.__exit__(None, None, None)";
  Variant variant = in_python();
  variant.params = {{"dtype", "amp"}};
  EXPECT_EQ(codes(python_snippet(variant).statement), (Codes{enter, "y = torch.relu(x)", leave}));
  variant.autograd = Autograd::kForwardBackward;
  variant.reduce = "sum";
  EXPECT_EQ(codes(python_snippet(variant).statement),
            (Codes{enter, "y = torch.relu(x)", "instr_loss_ = y.sum()", leave,
                   "instr_loss_.backward()"}));
  EXPECT_EQ(codes(python_snippet(variant, Purpose::kVerify).statement),
            (Codes{enter, "y = torch.relu(x)",
                   "instr_is_tensor_ = instr_verification_.output(locals(), \"y\")",
                   "if instr_is_tensor_:\n    instr_loss_ = y.sum()\n", leave,
                   "if instr_is_tensor_:\n    instr_loss_.backward()\n    "
                   "instr_verification_.gradients(\"x\", x)\n"}));
}

TEST(PythonSnippet, AVerifierHandsOverTheOutputAndTheGradients) {
  Variant variant = in_python(Runtime::kEager, Autograd::kForwardBackward);
  const PythonSnippet snippet = python_snippet(variant, Purpose::kVerify);
  EXPECT_EQ(
      codes(snippet.statement),
      (Codes{"y = torch.relu(x)", "instr_is_tensor_ = instr_verification_.output(locals(), \"y\")",
             "if instr_is_tensor_:\n    y.backward()\n    "
             "instr_verification_.gradients(\"x\", x)\n"}));
  EXPECT_TRUE(python_symbol(snippet).starts_with("instr_verify_"));
}

TEST(PythonSnippet, ItsSymbolIsOfItsCodeAlone) {
  Variant variant = in_python();
  const std::string symbol = python_symbol(python_snippet(variant));
  EXPECT_TRUE(symbol.starts_with("instr_snippet_"));
  variant.threads = 2;
  variant.label = "other";
  variant.stmt->where.line = 99;
  EXPECT_EQ(python_symbol(python_snippet(variant)), symbol);
  variant.stmt->code += " ";
  EXPECT_NE(python_symbol(python_snippet(variant)), symbol);
  // What moves from one text to another is other code.
  Variant moved = in_python();
  moved.setups.push_back(moved.module_setups.front());
  moved.module_setups.clear();
  EXPECT_NE(python_symbol(python_snippet(moved)), symbol);
}

TEST(PythonSnippet, LinesAreThoseOfTheToml) {
  const PythonSnippet snippet =
      python_snippet(in_python(Runtime::kEager, Autograd::kForwardBackward));
  const auto place = [&](int line, int column = 0) {
    auto found = place_in_python(snippet, line, column);
    return found ? to_string(*found) : "nowhere";
  };
  EXPECT_EQ(place(1 * kPythonLines + 1), "a.toml:2:21");
  // Of a line whose indentation was removed: its first character, or the column in what is left.
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
