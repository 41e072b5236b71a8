#include "core/measure/failure_text.h"

#include "core/compile/source_writer.h"
#include "tests/golden.h"

namespace instr::failure_text_test {
namespace {

// bench.toml:
//   2  label = "a"
//   4  cpp = "auto x = torch::rand({4, 4});"
//   9  setup = """
//  11    auto w = x;
//  12  stmt = "y = f(x);"
//  20  torchscript = """
//  21    z = x * 2
//  22
//  23    if x.size(0) == 4:
//  24      y = torch.mm(z, w)
//  25  signature = "f(x) -> y"
Variant variant(Backend backend, Autograd autograd = Autograd::kForward) {
  Variant made;
  made.backend = backend;
  made.autograd = autograd;
  made.where = {"bench.toml", 1, 1};
  made.setups = {{"auto x = torch::rand({4, 4});", {"bench.toml", 4, 8}},
                 {"\n  auto w = x;\n", {"bench.toml", 10, 1}}};
  made.stmt = Text{"y = f(x);", {"bench.toml", 12, 9}};
  made.torchscript =
      Text{"  z = x * 2\n\n  if x.size(0) == 4:\n    y = torch.mm(z, w)\n", {"bench.toml", 21, 1}};
  made.signature = Signature{{"x"}, "y", {"bench.toml", 25, 13}};
  return made;
}

// Messages of LibTorch 1.13 and 2.13.
constexpr const char* kRaised =
    R"(The following operation failed in the TorchScript interpreter.
Traceback of TorchScript, serialized code (most recent call last):
  File "code/__torch__.py", line 8, in forward
    z = torch.mul(x, 2)
    if torch.eq(torch.size(x, 0), 4):
      y = torch.mm(z, w)
          ~~~~~~~~ <--- HERE

Traceback of TorchScript, original code (most recent call last):
  File "<string>", line 4, in forward
    z = x * 2
    if x.size(0) == 4:
      y = torch.mm(z, w)
          ~~~~~~~~ <--- HERE
    return y
RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x4 and 7x7)
)";

TEST(FailureText, ACompilerThatHangsIsNotTheSetup) {
  EXPECT_EQ(
      failure_text("stopped after 15 s of CPU time", "preparing", variant(Backend::kTorchScript)),
      "bench.toml:21:3: while torchscript compiled or first ran the TorchScript text: stopped "
      "after 15 s of CPU time");
  Variant compiled = variant(Backend::kInductor);
  compiled.torchscript.reset();
  EXPECT_EQ(failure_text("SIGSEGV", "preparing", compiled),
            "bench.toml:12:9: while inductor compiled or first ran the statement: SIGSEGV");
}

TEST(FailureText, TorchScriptsErrorsAreAtTheirPlaceInTheToml) {
  EXPECT_GOLDEN("failures/torchscript_error_at_its_toml_line.txt",
                failure_text(kRaised, "statement", variant(Backend::kTorchScript)));
  EXPECT_EQ(script_place("no place", variant(Backend::kTorchScript)), std::nullopt);
}

SourceLocation place(const std::string& message) {
  return script_place(message, variant(Backend::kTorchScript)).value_or(SourceLocation{});
}

TEST(FailureText, TheLinesAroundTheTextAreTheSignatures) {
  const SourceLocation signature{"bench.toml", 25, 13};
  EXPECT_EQ(place("bad type:\n  File \"<string>\", line 1\ndef forward(self, x: T):\n"
                  "                     ~ <--- HERE\n"),
            signature);
  EXPECT_EQ(place("undefined value y:\n  File \"<string>\", line 5\n    return y\n"
                  "           ~ <--- HERE\n"),
            signature);
  // An unclosed bracket is reported after the text.
  EXPECT_EQ(place("expected ) but found 'return' here:\n  File \"<string>\", line 5\n"
                  "    return y\n    ~~~~~~ <--- HERE\n"),
            (SourceLocation{"bench.toml", 24, 23}));
  // Without a caret the place is the begin of the line's text.
  EXPECT_EQ(place("expected newline but found 'indent' here:\n  File \"<string>\", line 3\n"),
            (SourceLocation{"bench.toml", 23, 3}));
  EXPECT_EQ(place("cut off:\n  File \"<string>\", line "), SourceLocation{});
}

TEST(FailureText, ExceptionsAreInTheTextThatRan) {
  const Variant eager = variant(Backend::kEager);
  EXPECT_EQ(failure_text("no luck", "statement", eager),
            "bench.toml:12:9: in the statement: no luck");
  EXPECT_EQ(failure_text("no luck", "setup", eager),
            "bench.toml:11:3: in the setup (or at bench.toml:4:8): no luck");
  // With backward, the statement has already run before it is measured.
  EXPECT_EQ(failure_text("no luck", "setup", variant(Backend::kEager, Autograd::kForwardBackward)),
            "bench.toml:12:9: in the statement or the setup (or at bench.toml:11:3, "
            "bench.toml:4:8): no luck");
  EXPECT_EQ(failure_text("no luck", "statement", variant(Backend::kFrozen)),
            "bench.toml:21:3: in the TorchScript text: no luck");
  EXPECT_EQ(failure_text("no luck", "setup", variant(Backend::kFrozen)),
            "bench.toml:11:3: in the setup (or at bench.toml:4:8): no luck");
}

TEST(FailureText, MessagesWithoutAPlaceAreUnchanged) {
  EXPECT_EQ(failure_text("no luck", "", variant(Backend::kEager)), "no luck");
  EXPECT_EQ(failure_text("no luck", "setup", {}), "no luck");
  EXPECT_EQ(failure_text(kRaised, "statement", {}), kRaised);
}

TEST(FailureText, AModuleIsMadeBeforeAndRunAsTheStatement) {
  Variant module = variant(Backend::kEager);
  module.stmt.reset();
  module.setups.clear();
  module.module = Text{"torch::nn::Linear(4, 2)", {"bench.toml", 7, 11}};
  for (const char* part : {"setup", "statement"}) {
    EXPECT_EQ(failure_text("no luck", part, module), "bench.toml:7:11: in the module: no luck");
  }
}

TEST(FailureText, ATimeoutHasAdviceToRaiseIt) {
  Variant usual = variant(Backend::kEager);
  EXPECT_EQ(timeout_advice(usual), ": raise --timeout=SECONDS");
  usual.timeout = 0.5;
  EXPECT_EQ(timeout_advice(usual), ": raise the benchmark's own `timeout` (bench.toml:1:1)");
  const auto text = [](FailureKind kind) {
    return std::get<Failure>(with_timeout_advice(Failure{kind, "stopped"}, {})).message;
  };
  EXPECT_EQ(text(FailureKind::kTimedOut), "stopped: raise --timeout=SECONDS");
  EXPECT_EQ(text(FailureKind::kCrashed), "stopped");
  Variant counted;
  const auto text_of_count = [&counted] {
    const Outcome failed = Failure{FailureKind::kTimedOut, "stopped"};
    return std::get<Failure>(with_timeout_advice_for_count(failed, counted)).message;
  };
  EXPECT_EQ(text_of_count(), "stopped: raise --timeout=SECONDS");
  counted.device = "cuda";
  EXPECT_EQ(text_of_count(),
            "stopped: raise --timeout=SECONDS; a loop that waits for a value never "
            "ends: data on the device are zeros");
}

TEST(FailureText, ErrorsOfADefinitionAreTheSignatures) {
  const auto text_for = [](const std::string& kind, const std::string& message) {
    const wire::Message reply{"failed", {{"kind", kind}, {"message", message}}};
    return std::get<Failure>(parse_reply(reply, variant(Backend::kTorchScript))).message;
  };
  EXPECT_EQ(text_for("definition_error", "not a scalar"), "bench.toml:25:13: not a scalar");
  EXPECT_EQ(text_for("definition_error", kRaised).substr(0, 17), "bench.toml:24:9: ");
  EXPECT_EQ(text_for("worker_lost", "gone"), "gone");
}

// Each place in a body has the same character as its place in the text.
TEST(ScriptBody, HasPlacesInTheDefinition) {
  const Text script{"a = 1\n\n   # c\n  b = (a)", {"b.toml", 3, 16}};
  const auto lines = to_lines(format_script_body(script.code));
  EXPECT_EQ(lines[0].substr(4), "a = 1");
  EXPECT_EQ(find_place_in_script(script, 1, 5), (SourceLocation{"b.toml", 3, 16}));
  EXPECT_EQ(find_place_in_script(script, 1, 9), (SourceLocation{"b.toml", 3, 20}));
  EXPECT_EQ(find_place_in_script(script, 2, 0), (SourceLocation{"b.toml", 5, 4}));
  EXPECT_EQ(lines[2].substr(11 - 1, 3), "(a)");
  EXPECT_EQ(find_place_in_script(script, 3, 11), (SourceLocation{"b.toml", 6, 7}));
  EXPECT_EQ(find_place_in_script(script, 4, 1), std::nullopt);
  EXPECT_EQ(find_place_in_script(script, 0, 1), std::nullopt);
  EXPECT_EQ(find_script_end(script), (SourceLocation{"b.toml", 6, 10}));
  EXPECT_EQ(find_first_place({"\n \n  x", {"b.toml", 3, 9}}), (SourceLocation{"b.toml", 5, 3}));
  EXPECT_EQ(find_first_place({" x", {"b.toml", 3, 9}}), (SourceLocation{"b.toml", 3, 10}));
}

}  // namespace
}  // namespace instr::failure_text_test
