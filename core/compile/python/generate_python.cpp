#include "core/compile/python/generate_python.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/content_hash.h"
#include "core/base/trim.h"
#include "core/compile/source_writer.h"
#include "core/definitions/axes.h"

namespace instr {

namespace {

// Part of every symbol: increment it when generated code, or the way it is compiled, changes.
constexpr const char* kPythonGeneratorVersion = "2";

// As many calls until TorchScript has profiled and optimised it.
constexpr int kScriptTrials = 12;

// What is a string literal in JSON is one in Python.
std::string to_python_literal(const std::string& text) {
  return nlohmann::ordered_json(text).dump(-1, ' ', /*ensure_ascii=*/false,
                                           nlohmann::ordered_json::error_handler_t::replace);
}

bool is_on_xla(const Variant& variant) { return facts_of(variant.backend).is_on_xla; }

std::string call_of(const char* function, const Signature& signature) {
  return fmt::format("{}({})", function, join_names(signature.arguments));
}

// Makes `instr_script_`: of the module, or of a function around the TorchScript body.
std::string script_of(const Variant& variant) {
  if (variant.module) return "instr_script_ = torch.jit.script(instr_module_)";
  const Signature& signature = *variant.signature;
  std::string text = "def instr_function(" + join_names(signature.arguments) + "):\n" +
                     format_script_body(variant.torchscript->code) + "    return " +
                     signature.output + "\n";
  return "instr_script_ = torch.jit.CompilationUnit(" + to_python_literal(text) +
         ").instr_function";
}

std::string indented(const std::string& code) {
  std::string out;
  for (const std::string& line : to_lines(code)) out += "    " + line + "\n";
  return out;
}

// The statement as a function, its place kept: its text begins one line below.
Text function_of(const Variant& variant) {
  const Signature& signature = *variant.signature;
  Text text = *variant.stmt;
  text.code = "def instr_function_(" + join_names(signature.arguments) + "):\n" +
              indented(text.code) + "    return " + signature.output + "\n";
  if (text.where.line > 1) --text.where.line;
  return text;
}

const char* backend_of(const BackendFacts& backend) {
  return backend.torch_backend != nullptr ? backend.torch_backend : backend.name;
}

// What makes that of a module or a function in Python.
std::string made_of(const char* function, const Variant& variant) {
  const BackendFacts& backend = facts_of(variant.backend);
  if (backend.body == Body::kTraced) {
    return fmt::format("torch.jit.trace({}, ({},), check_trace=False)", function,
                       join_names(variant.signature->arguments));
  }
  if (backend.body == Body::kLazy) return function;
  std::string options = "backend=" + to_python_literal(backend_of(backend));
  if (backend.mode != nullptr) options += ", mode=" + to_python_literal(backend.mode);
  if (backend.options != nullptr) options += fmt::format(", options={}", backend.options);
  if (has_dynamic_shapes(variant)) options += ", dynamic=True";
  return fmt::format("torch.compile({}, {})", function, options);
}

// Moves what the statement is called with to where it runs.
void move_to_xla(PythonSnippet& snippet, const Variant& variant) {
  std::string names = join_names(variant.signature->arguments);
  if (variant.module) names += names.empty() ? "instr_module_" : ", instr_module_";
  snippet.setup.push_back(
      {fmt::format("import instr_xla\n[{0}] = instr_xla.moved({0})", names), {}});
}

// Imports a backend that is a package of its own, which is no part of what is measured.
void load_backend(PythonSnippet& snippet, const Variant& variant) {
  const BackendFacts& backend = facts_of(variant.backend);
  if (!backend.keeps_gradients) snippet.setup.push_back({"torch.set_grad_enabled(False)", {}});
  if (backend.packages == nullptr || !is_of_torch_compile(variant.backend)) return;
  snippet.setup.push_back({fmt::format("import instr_compiler\ninstr_compiler.load({})",
                                       to_python_literal(backend_of(backend))),
                           {}});
}

// Makes `instr_script_`, and what that needs.
std::vector<Text> preparation_of(const Variant& variant) {
  if (facts_of(variant.backend).body == Body::kScript) {
    return {{script_of(variant), variant.torchscript->where}};
  }
  const char* function = variant.module ? "instr_module_" : "instr_function_";
  const Text made{"instr_script_ = " + made_of(function, variant), {}};
  if (variant.module) return {made};
  return {function_of(variant), made};
}

// Calls until it is optimised: TorchScript profiles its first ones.
int trials_of(const Variant& variant) { return is_compiled(variant.backend) ? 3 : kScriptTrials; }

// What the statement is run as: what its output is assigned to, and the call or the author's text.
std::vector<Text> forward_of(const Variant& variant, bool needs_output) {
  if (variant.stmt && !is_script(variant.backend)) return {*variant.stmt};
  const std::string target = needs_output ? variant.signature->output + " = " : "";
  const char* function = is_script(variant.backend) ? "instr_script_" : "instr_module_";
  return {{target + call_of(function, *variant.signature), {}}};
}

// What backward() is of.
std::string loss_of(const Variant& variant) {
  return variant.signature->output + (variant.reduce ? "." + *variant.reduce + "()" : "");
}

// Its name, where it is computed apart from backward(): under autocast, which does not include
// that.
constexpr const char* kLoss = "instr_loss_";

Text loss_under_autocast(const Variant& variant) {
  return {fmt::format("{} = {}", kLoss, loss_of(variant)), {}};
}

Text backward_of(const Variant& variant) {
  return {(is_autocast(variant) ? kLoss : loss_of(variant)) + ".backward()", {}};
}

// `texts`, under autocast if the variant's data type is that. Not in a `with`: each text keeps its
// place.
std::vector<Text> in_autocast(std::vector<Text> texts, const Variant& variant) {
  if (!is_autocast(variant)) return texts;
  const std::string device = is_on_xla(variant) ? "xla" : variant.device;
  texts.insert(texts.begin(), {fmt::format("instr_autocast_ = torch.autocast({})\n"
                                           "instr_autocast_.__enter__()",
                                           to_python_literal(device)),
                               {}});
  texts.push_back({"instr_autocast_.__exit__(None, None, None)", {}});
  return texts;
}

// What runs `forward`, whose output is assigned, with backward if the variant has it.
std::vector<Text> with_backward(std::vector<Text> forward, const Variant& variant) {
  const bool is_backward = variant.autograd == Autograd::kForwardBackward;
  if (is_backward && is_autocast(variant)) forward.push_back(loss_under_autocast(variant));
  auto texts = in_autocast(std::move(forward), variant);
  if (is_backward) texts.push_back(backward_of(variant));
  return texts;
}

std::vector<Text> statement_of(const Variant& variant) {
  const bool is_backward = variant.autograd == Autograd::kForwardBackward;
  // What nobody holds is never computed there.
  const bool needs_output = is_backward || is_on_xla(variant);
  std::vector<Text> texts = with_backward(forward_of(variant, needs_output), variant);
  if (is_on_xla(variant))
    texts.push_back({fmt::format("instr_xla.wait({})", variant.signature->output), {}});
  return texts;
}

// Before the script is made, after its first result and once it is optimised (worker/abi.h).
Text mark(int reached) { return {fmt::format("instr_mark_({})", reached), {}}; }

std::string loop(int times, const std::vector<Text>& texts) {
  std::string code = fmt::format("for instr_trial_ in range({}):\n", times);
  for (const Text& text : texts) code += indented(text.code);
  return code;
}

// Compiling takes long, more so when it is simulated.
Text simulate(bool on) { return {on ? "instr_simulate_(True)" : "instr_simulate_(False)", {}}; }

// Makes the script, and runs it until it is optimised.
void prepare_to_measure(PythonSnippet& snippet, const Variant& variant) {
  std::vector<Text>& setup = snippet.setup;
  setup.push_back(simulate(false));
  load_backend(snippet, variant);
  setup.push_back(mark(0));
  for (Text& text : preparation_of(variant)) setup.push_back(std::move(text));
  setup.push_back({loop(1, snippet.statement), {}});
  setup.push_back(mark(1));
  setup.push_back({loop(trials_of(variant) - 1, snippet.statement), {}});
  setup.push_back(mark(2));
  setup.push_back(simulate(true));
}

// The same on arguments of its own: what is verified is the optimised code, on arguments that
// nothing has changed.
void prepare_to_verify(PythonSnippet& snippet, const Variant& variant) {
  const Signature& signature = *variant.signature;
  load_backend(snippet, variant);
  for (Text& text : preparation_of(variant)) snippet.setup.push_back(std::move(text));
  const Text call{fmt::format("{} = instr_script_(*instr_verification_.copies({}))",
                              signature.output, join_names(signature.arguments)),
                  {}};
  std::vector<Text> trial = with_backward({call}, variant);
  trial.insert(trial.begin(), {"instr_verification_.begin()", {}});
  snippet.setup.push_back({loop(trials_of(variant), trial), {}});
}

// The arguments' values that the statement computes on, if the run is the reference.
void add_reference(PythonSnippet& snippet, const Variant& variant) {
  const std::string arguments = join_names(variant.signature->arguments);
  std::string code = "if instr_verification_.is_reference:\n";
  code += fmt::format("    [{0}] = instr_verification_.to_reference({0})\n", arguments);
  if (variant.module) code += "    instr_module_ = instr_module_.double()\n";
  snippet.setup.push_back({code, {}});
}

void add_verification(PythonSnippet& snippet, const Variant& variant) {
  const Signature& signature = *variant.signature;
  const bool runs_script = is_script(variant.backend);
  const bool is_backward = variant.autograd == Autograd::kForwardBackward;
  if (runs_script) {
    prepare_to_verify(snippet, variant);
  } else {
    add_reference(snippet, variant);
  }
  std::vector<std::string> watched = signature.arguments;
  if (variant.module) watched.emplace_back("instr_module_");
  if (is_backward) {
    snippet.setup.push_back(
        {fmt::format("instr_verification_.watch({})", join_names(watched)), {}});
  }
  snippet.setup.push_back({"instr_verification_.begin()", {}});
  snippet.statement = forward_of(variant, /*needs_output=*/true);
  const std::string output = to_python_literal(signature.output);
  snippet.statement.push_back(
      {fmt::format("instr_is_tensor_ = instr_verification_.output(locals(), {})", output), {}});
  if (is_backward && is_autocast(variant)) {
    snippet.statement.push_back(
        {"if instr_is_tensor_:\n" + indented(loss_under_autocast(variant).code), {}});
  }
  snippet.statement = in_autocast(std::move(snippet.statement), variant);
  if (!is_backward) return;
  std::vector<Text> after{backward_of(variant)};
  for (const std::string& name : watched) {
    after.push_back({fmt::format("instr_verification_.gradients({}, {})",
                                 to_python_literal(name == "instr_module_" ? "" : name), name),
                     {}});
  }
  std::string code = "if instr_is_tensor_:\n";
  for (const Text& text : after) code += indented(text.code);
  snippet.statement.push_back({code, {}});
}

}  // namespace

PythonSnippet make_python_snippet(const Variant& variant, Purpose purpose) {
  PythonSnippet snippet{purpose, variant.global_setups, variant.setups, {}};
  if (variant.module) {
    snippet.setup.push_back(
        {fmt::format("instr_module_ = ({})", trim(variant.module->code, " \t\r\n")),
         find_first_place(*variant.module)});
  }
  if (is_on_xla(variant)) move_to_xla(snippet, variant);
  if (purpose == Purpose::kVerify) {
    add_verification(snippet, variant);
    return snippet;
  }
  snippet.statement = statement_of(variant);
  if (is_script(variant.backend)) prepare_to_measure(snippet, variant);
  return snippet;
}

std::string make_python_symbol(const PythonSnippet& snippet) {
  std::string text = kPythonGeneratorVersion;
  for (const auto* part : {&snippet.module, &snippet.setup, &snippet.statement}) {
    text += "\n" + std::to_string(part->size());
    for (const Text& one : *part) text += fmt::format("\n{}\n{}", one.code.size(), one.code);
  }
  return (snippet.purpose == Purpose::kMeasure ? "instr_snippet_" : "instr_verify_") +
         content_hash(text);
}

std::optional<SourceLocation> find_place_in_python(const PythonSnippet& snippet, int line,
                                                   int column) {
  std::vector<const Text*> texts;
  for (const auto* part : {&snippet.module, &snippet.setup, &snippet.statement}) {
    for (const Text& one : *part) texts.push_back(&one);
  }
  const int number = line / kPythonLines - 1;
  if (number < 0 || number >= std::ssize(texts)) return std::nullopt;
  const Text& text = *texts[static_cast<std::size_t>(number)];
  if (text.where.file.empty()) return std::nullopt;
  return find_place_in_text(text, line % kPythonLines, column);
}

}  // namespace instr
