#include "core/compile/python/generate_python.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/base/content_hash.h"
#include "core/base/text.h"
#include "core/compile/source_writer.h"
#include "core/definitions/axes.h"
#include "core/definitions/declarations.h"

namespace instr {

namespace {

// Part of every symbol: increment it when generated code, or the way it is compiled, changes.
constexpr const char* kPythonGeneratorVersion = "3";

constexpr int kScriptTrials = 12;  // calls until TorchScript has profiled and optimised a script

bool is_on_xla(const Variant& variant) { return facts_of(variant.backend).is_on_xla; }

// Returns true if the script has to be a module: a function cannot be frozen.
bool needs_script_module(const Variant& variant) {
  const Preparation preparation = facts_of(variant.backend).preparation;
  return preparation == Preparation::kFreeze || preparation == Preparation::kOptimize;
}

bool sets_fuser(const Variant& variant) {
  const Preparation preparation = facts_of(variant.backend).preparation;
  return preparation == Preparation::kFuse || preparation == Preparation::kDoNotFuse;
}

// Makes `instr_script_` from the module, or from a function around the TorchScript body.
std::string make_script(const Variant& variant) {
  if (variant.module) return "instr_script_ = torch.jit.script(instr_module_)";
  const Signature& signature = *variant.signature;
  const auto define = [&](const std::string& head) {
    return to_python_literal("def " + head + join_names(signature.arguments) + "):\n" +
                             format_script_body(variant.torchscript->code) + "    return " +
                             signature.output + "\n");
  };
  if (needs_script_module(variant)) {
    const char* first = signature.arguments.empty() ? "forward(self" : "forward(self, ";
    // A class of its own, since methods of a class are defined once in a process.
    return fmt::format(
        "class InstrScript_(torch.jit.ScriptModule):\n    pass\n"
        "instr_script_ = InstrScript_()\ninstr_script_.define({})",
        define(first));
  }
  return "instr_script_ = torch.jit.CompilationUnit(" + define("instr_function(") +
         ").instr_function";
}

// Returns code that sets TorchScript's fuser. The settings are read when a script has been
// profiled.
std::string set_fuser(const char* is_on, const char* can_fuse_on_cpu, const char* must_use_llvm) {
  return fmt::format(
      "torch._C._jit_set_texpr_fuser_enabled({})\n"
      "torch._C._jit_override_can_fuse_on_cpu({})\n"
      "torch._C._jit_set_te_must_use_llvm_cpu({})",
      is_on, can_fuse_on_cpu, must_use_llvm);
}

std::string set_fuser(bool is_on) {
  const char* const value = is_on ? "True" : "False";
  return "instr_fuser_ = (torch._C._jit_texpr_fuser_enabled(), torch._C._jit_can_fuse_on_cpu(), "
         "torch._C._jit_get_te_must_use_llvm_cpu())\n" +
         set_fuser(value, value, "False");
}

// Returns code that undoes set_fuser(bool), since the scripts of a benchmark are timed in one
// process.
std::string reset_fuser() {
  return set_fuser("instr_fuser_[0]", "instr_fuser_[1]", "instr_fuser_[2]");
}

// Returns the code that does the same as preparation_code() in generate_cpp.cpp; empty if the
// script runs unchanged.
std::string prepare_script(Preparation preparation) {
  switch (preparation) {
    case Preparation::kNone: break;
    case Preparation::kFreeze: return "instr_script_ = torch.jit.freeze(instr_script_.eval())";
    case Preparation::kOptimize:
      return "instr_script_ = torch.jit.optimize_for_inference(instr_script_.eval())";
    case Preparation::kFuse: return set_fuser(true);
    case Preparation::kDoNotFuse: return set_fuser(false);
  }
  return "";
}

std::string indent(const std::string& code) {
  std::string out;
  for (const std::string& line : to_lines(code)) out += "    " + line + "\n";
  return out;
}

// Makes a function of the statement, with its place kept: its text begins one line below.
Text make_function(const Variant& variant) {
  const Signature& signature = *variant.signature;
  Text text = *variant.stmt;
  text.code = "def instr_function_(" + join_names(signature.arguments) + "):\n" +
              indent(text.code) + "    return " + signature.output + "\n";
  if (text.where.line > 1) --text.where.line;
  return text;
}

std::string make_package_loader(const Variant& variant) {
  if (variant.package) {
    return fmt::format("instr_script_ = instr_load_package_({})",
                       to_python_literal(variant.package->code));
  }
  const auto& [counted, native] = variant.made_package;
  return fmt::format(
      "instr_script_ = instr_load_package_({} if \"INSTR_NATIVE_PACKAGES\" in instr_os_.environ "
      "else {})",
      to_python_literal(native), to_python_literal(counted));
}

constexpr const char* kBackendFunction = "instr_backend_";

const char* torch_backend(const BackendFacts& backend) {
  return backend.torch_backend != nullptr ? backend.torch_backend : backend.name;
}

// Returns the code that prepares a module or a function of Python.
std::string prepare(const char* function, const Variant& variant) {
  const BackendFacts& backend = facts_of(variant.backend);
  if (backend.body == Body::kTraced || backend.body == Body::kScript) {
    return fmt::format("torch.jit.trace({}, ({},), check_trace=False)", function,
                       join_names(variant.signature->arguments));
  }
  if (backend.body == Body::kLazy) return function;
  std::string options = "backend=";
  options += backend.function ? kBackendFunction : to_python_literal(torch_backend(backend));
  if (backend.mode != nullptr) options += ", mode=" + to_python_literal(backend.mode);
  if (backend.options != nullptr) options += fmt::format(", options={}", backend.options);
  if (backend.is_fullgraph) options += ", fullgraph=True";
  if (has_dynamic_shapes(variant)) options += ", dynamic=True";
  return fmt::format("torch.compile({}, {})", function, options);
}

// Sets what the variant's setting sets, before its modules and setups run. Only what compiles reads
// torch's configurations, and only its process has imported them.
void apply_setting(PythonSnippet& snippet, const Variant& variant, bool compiles) {
  const Setting& setting = *variant.setting;
  std::string code = setting.environment.empty() ? "" : "import os\n";
  for (const auto& [name, value] : setting.environment) {
    code += fmt::format("os.environ[{}] = {}\n", to_python_literal(name), to_python_literal(value));
  }
  if (compiles) {
    for (const ConfigValue& config : setting.config) {
      code += fmt::format("import torch._{0}.config\nsetattr(torch._{0}.config, {1}, {2})\n",
                          config.group, to_python_literal(config.name), config.value);
    }
  }
  std::vector<Text> texts;
  if (!code.empty()) texts.push_back({code, setting.where});
  if (setting.torch) texts.push_back(*setting.torch);
  snippet.module.insert(snippet.module.begin(), texts.begin(), texts.end());
}

// Replaces the arguments and the module by what a function of a module of the worker makes of them.
void replace_values(PythonSnippet& snippet, const Variant& variant, const char* module,
                    const char* function) {
  std::string names = join_names(variant.signature->arguments);
  if (variant.module) names += names.empty() ? "instr_module_" : ", instr_module_";
  snippet.setup.push_back(
      {fmt::format("import {1}\n[{0}] = {1}.{2}({0})", names, module, function), {}});
}

// Imports a backend that is a separate package; importing is not measured.
void load_backend(PythonSnippet& snippet, const Variant& variant) {
  const BackendFacts& backend = facts_of(variant.backend);
  if (!backend.keeps_gradients && is_of_torch_compile(variant.backend)) {
    snippet.setup.push_back({"torch.set_grad_enabled(False)", {}});
  }
  if (runs_package(variant.backend)) {
    snippet.setup.push_back(
        {"import os as instr_os_\n"
         "from torch._inductor import aoti_load_package as instr_load_package_",
         {}});
  } else if (backend.function != nullptr) {
    snippet.setup.push_back(
        {fmt::format("from {} import {} as {}", backend.module, backend.function, kBackendFunction),
         {}});
  } else if (backend.module != nullptr) {
    snippet.setup.push_back({fmt::format("import {}", backend.module), {}});
  }
  const bool is_best = backend.module != nullptr &&
                       std::string_view(backend.module) == facts_of(Backend::kBest).module;
  if (is_best) {  // it times the passes that run
    snippet.setup.push_back({fmt::format("import {0}\n{0}.has_backward = {1}", backend.module,
                                         is_differentiated(variant) ? "True" : "False"),
                             {}});
  }
  if (backend.packages == nullptr || !is_of_torch_compile(variant.backend)) return;
  snippet.setup.push_back({fmt::format("import instr_compiler\ninstr_compiler.load({})",
                                       to_python_literal(torch_backend(backend))),
                           {}});
}

// Makes `instr_script_` of the module or the statement, and the function that it needs, if any.
std::vector<Text> make_script_of_python(const Variant& variant) {
  std::vector<Text> texts;
  const char* function = "instr_module_";
  if (!variant.module) {
    texts.push_back(make_function(variant));
    if (needs_script_module(variant)) {
      texts.push_back(
          {"instr_module_ = torch.nn.Module()\ninstr_module_.forward = instr_function_", {}});
    } else {
      function = "instr_function_";
    }
  }
  texts.push_back({"instr_script_ = " + prepare(function, variant), {}});
  return texts;
}

// Makes `instr_script_`. A statement or module without TorchScript is traced, as in C++.
std::vector<Text> make_preparation(const Variant& variant) {
  const BackendFacts& backend = facts_of(variant.backend);
  if (runs_package(variant.backend)) return {{make_package_loader(variant), {}}};
  if (backend.body != Body::kScript) return make_script_of_python(variant);
  std::vector<Text> texts =
      variant.torchscript ? std::vector<Text>{{make_script(variant), variant.torchscript->where}}
                          : make_script_of_python(variant);
  const std::string code = prepare_script(backend.preparation);
  if (!code.empty()) texts.push_back({code, {}});
  return texts;
}

int count_trials(const Variant& variant) {
  return is_compiled(variant.backend) || runs_package(variant.backend) ? 3 : kScriptTrials;
}

// Returns the author's statement, or a call whose output is assigned if needed.
std::vector<Text> make_forward(const Variant& variant, bool needs_output) {
  if (variant.stmt && !is_script(variant.backend)) return {*variant.stmt};
  const std::string target = needs_output ? variant.signature->output + " = " : "";
  const char* function = is_script(variant.backend) ? "instr_script_" : "instr_module_";
  return {
      {fmt::format("{}{}({})", target, function, join_names(variant.signature->arguments)), {}}};
}

std::string format_loss(const Variant& variant) {
  return variant.signature->output + (variant.reduce ? "." + *variant.reduce + "()" : "");
}

// Under autocast, the loss is computed separately from backward(), which runs outside autocast.
constexpr const char* kLoss = "instr_loss_";

Text make_loss_under_autocast(const Variant& variant) {
  return {fmt::format("{} = {}", kLoss, format_loss(variant)), {}};
}

Text make_backward(const Variant& variant) {
  return {(is_autocast(variant) ? kLoss : format_loss(variant)) + ".backward()", {}};
}

// Puts autocast around the texts if the variant's data type is amp. Not in a `with`, so that each
// text keeps its place.
std::vector<Text> add_autocast(std::vector<Text> texts, const Variant& variant) {
  if (!is_autocast(variant)) return texts;
  const std::string device = is_on_xla(variant) ? "xla" : variant.device;
  texts.insert(texts.begin(), {fmt::format("instr_autocast_ = torch.autocast({})\n"
                                           "instr_autocast_.__enter__()",
                                           to_python_literal(device)),
                               {}});
  texts.push_back({"instr_autocast_.__exit__(None, None, None)", {}});
  return texts;
}

// Adds autocast and backward to `forward`, whose output is assigned, if the variant has them.
std::vector<Text> add_backward(std::vector<Text> forward, const Variant& variant) {
  const bool is_backward = is_differentiated(variant);
  if (is_backward && is_autocast(variant)) forward.push_back(make_loss_under_autocast(variant));
  auto texts = add_autocast(std::move(forward), variant);
  if (is_backward) texts.push_back(make_backward(variant));
  return texts;
}

std::vector<Text> make_statement(const Variant& variant) {
  const bool is_backward = is_differentiated(variant);
  // XLA is lazy: an unreferenced result is never computed.
  const bool needs_output = is_backward || is_on_xla(variant);
  std::vector<Text> texts = add_backward(make_forward(variant, needs_output), variant);
  if (variant.optimizer) {
    texts.insert(texts.begin(), {"instr_optimizer_.zero_grad(set_to_none=True)", {}});
    texts.push_back({"instr_optimizer_.step()", {}});
  }
  if (is_on_xla(variant)) {
    texts.push_back({fmt::format("instr_xla.wait({})", variant.signature->output), {}});
  }
  return texts;
}

// `reached`: 0 before the script is made, 1 after its first result, 2 once it is optimised
// (worker/abi.h).
Text make_mark(int reached) { return {fmt::format("instr_mark_({})", reached), {}}; }

std::string make_loop(int times, const std::vector<Text>& texts) {
  std::string code = fmt::format("for instr_trial_ in range({}):\n", times);
  for (const Text& text : texts) code += indent(text.code);
  return code;
}

// Makes the script, and runs it until it is optimised.
void prepare_to_measure(PythonSnippet& snippet, const Variant& variant) {
  std::vector<Text>& setup = snippet.setup;
  // TorchScript compiles quickly where a zygote has its compiler translated.
  const bool is_slow = needs_compiler(variant) || is_first_call(variant);
  if (is_slow) setup.push_back({"instr_simulate_(False)", {}});
  load_backend(snippet, variant);
  setup.push_back(make_mark(0));
  for (Text& text : make_preparation(variant)) setup.push_back(std::move(text));
  if (!is_first_call(variant)) {
    setup.push_back({make_loop(1, snippet.statement), {}});
    setup.push_back(make_mark(1));
    setup.push_back({make_loop(count_trials(variant) - 1, snippet.statement), {}});
    setup.push_back(make_mark(2));
    if (sets_fuser(variant)) setup.push_back({reset_fuser(), {}});
  }
  setup.push_back({"instr_simulate_(True)", {}});  // it may be off in the zygote
}

// Has the statement compile the function that it calls.
void prepare_to_compile(PythonSnippet& snippet, const Variant& variant) {
  load_backend(snippet, variant);
  std::vector<Text> preparation = make_preparation(variant);
  snippet.statement.insert(snippet.statement.begin(), preparation.back());
  preparation.pop_back();
  for (Text& text : preparation) snippet.setup.push_back(std::move(text));
}

// Has the setup run without instrumentation, under which compiling takes minutes. A statement that
// compiles is marked for the worker, which switches instrumentation on after its warm-up.
void speed_up_setup(PythonSnippet& snippet, const Variant& variant) {
  snippet.setup.insert(snippet.setup.begin(), {"instr_simulate_(False)", {}});
  if (variant.compiles) {
    snippet.module.push_back({"instr_compiles_ = True", {}});
  } else {
    snippet.setup.push_back({"instr_simulate_(True)", {}});
  }
}

// Makes the script, and runs it on copies of the arguments until it is optimised, so that the
// optimised code is verified on unchanged arguments.
void prepare_to_verify(PythonSnippet& snippet, const Variant& variant) {
  const Signature& signature = *variant.signature;
  load_backend(snippet, variant);
  for (Text& text : make_preparation(variant)) snippet.setup.push_back(std::move(text));
  const Text call{fmt::format("{} = instr_script_(*instr_verification_.copies({}))",
                              signature.output, join_names(signature.arguments)),
                  {}};
  std::vector<Text> trial = add_backward({call}, variant);
  trial.insert(trial.begin(), {"instr_verification_.begin()", {}});
  snippet.setup.push_back({make_loop(count_trials(variant), trial), {}});
}

// Converts the arguments and the module to float64 if the run is the reference.
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
  const bool is_backward = is_differentiated(variant);
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
  snippet.statement = make_forward(variant, /*needs_output=*/true);
  const std::string output = to_python_literal(signature.output);
  snippet.statement.push_back(
      {fmt::format("instr_is_tensor_ = instr_verification_.output(locals(), {})", output), {}});
  if (is_backward && is_autocast(variant)) {
    snippet.statement.push_back(
        {"if instr_is_tensor_:\n" + indent(make_loss_under_autocast(variant).code), {}});
  }
  snippet.statement = add_autocast(std::move(snippet.statement), variant);
  if (!is_backward) return;
  std::string code = "if instr_is_tensor_:\n" + indent(make_backward(variant).code);
  for (const std::string& name : watched) {
    code += indent(fmt::format("instr_verification_.gradients({}, {})",
                               to_python_literal(name == "instr_module_" ? "" : name), name));
  }
  snippet.statement.push_back({code, {}});
}

void add_module(PythonSnippet& snippet, const Variant& variant) {
  const Text& module = *variant.module;
  snippet.setup.push_back({fmt::format("instr_module_ = ({})", trim(module.code, " \t\r\n")),
                           find_first_place(module)});
  if (is_on_cuda(variant)) snippet.setup.push_back({"instr_module_.to(\"cuda\")", {}});
}

}  // namespace

PythonSnippet make_python_snippet(const Variant& variant, Purpose purpose) {
  PythonSnippet snippet{purpose, variant.global_setups, variant.setups, {}};
  if (variant.tests) {
    snippet.setup = {{fmt::format("import instr_pytest\ninstr_pytest.run({}, instr_next_block_)",
                                  to_python_literal(variant.test)),
                      {}}};
    return snippet;
  }
  if (variant.setting != nullptr) {
    apply_setting(snippet, variant, is_compiled(variant.backend) || uses_compiler(variant));
  }
  if (variant.module && !runs_package(variant.backend)) add_module(snippet, variant);
  if (variant.autograd == Autograd::kForwardBackwardEval) {
    snippet.setup.push_back({"instr_module_.eval()", {}});
  }
  if (has_channels_last(variant)) {
    replace_values(snippet, variant, "instr_native_code", "in_channels_last");
  }
  if (is_on_xla(variant)) replace_values(snippet, variant, "instr_xla", "moved");
  if (purpose == Purpose::kVerify) {
    add_verification(snippet, variant);
    return snippet;
  }
  if (variant.optimizer) {
    snippet.setup.push_back({fmt::format("instr_optimizer_ = (lambda params: ({}))(list("
                                         "instr_module_.parameters()))",
                                         trim(variant.optimizer->code, " \t\r\n")),
                             variant.optimizer->where});
  }
  snippet.statement = make_statement(variant);
  if (is_script(variant.backend) && variant.compiles) {
    prepare_to_compile(snippet, variant);
    speed_up_setup(snippet, variant);
  } else if (is_script(variant.backend)) {
    prepare_to_measure(snippet, variant);
  } else if (uses_compiler(variant)) {
    speed_up_setup(snippet, variant);
  }
  return snippet;
}

PythonSnippet make_export_snippet(const Variant& variant) {
  PythonSnippet snippet{Purpose::kMeasure, variant.global_setups, variant.setups, {}};
  if (variant.setting != nullptr) apply_setting(snippet, variant, /*compiles=*/true);
  if (variant.module) {
    add_module(snippet, variant);
  } else {
    snippet.setup.push_back(make_function(variant));
  }
  const auto& arguments = variant.signature->arguments;
  snippet.statement = {{fmt::format("instr_export_({}, ({}{}))",
                                    variant.module ? "instr_module_" : "instr_function_",
                                    join_names(arguments), arguments.empty() ? "" : ","),
                        {}}};
  return snippet;
}

std::string make_python_symbol(const PythonSnippet& snippet) {
  std::string text = kPythonGeneratorVersion;
  for (const auto* part : {&snippet.module, &snippet.setup, &snippet.statement}) {
    text += "\n" + std::to_string(part->size());
    for (const Text& each : *part) text += fmt::format("\n{}\n{}", each.code.size(), each.code);
  }
  return (snippet.purpose == Purpose::kMeasure ? "instr_snippet_" : "instr_verify_") +
         content_hash(text);
}

std::optional<SourceLocation> find_place_in_python(const PythonSnippet& snippet, int line,
                                                   int column) {
  std::vector<const Text*> texts;
  for (const auto* part : {&snippet.module, &snippet.setup, &snippet.statement}) {
    for (const Text& each : *part) texts.push_back(&each);
  }
  const int number = line / kPythonLines - 1;
  if (number < 0 || number >= std::ssize(texts)) return std::nullopt;
  const Text& text = *texts[static_cast<std::size_t>(number)];
  if (text.where.file.empty()) return std::nullopt;
  return find_place_in_text(text, line % kPythonLines, column);
}

}  // namespace instr
