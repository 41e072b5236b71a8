#include "core/compile/generate_python.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/trim.h"
#include "core/compile/cache.h"
#include "core/compile/source_writer.h"

namespace instr {

namespace {

// Part of every symbol: increment it when generated code, or the way it is compiled, changes.
constexpr const char* kGeneratorVersion = "1";

// As many calls until TorchScript has profiled and optimised it.
constexpr int kScriptTrials = 12;

// What is a string literal in JSON is one in Python.
std::string literal_in_python(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', /*ensure_ascii=*/false,
                                   nlohmann::json::error_handler_t::replace);
}

std::string call_of(const char* function, const Signature& signature) {
  return fmt::format("{}({})", function, joined(signature.arguments));
}

// Makes `instr_script_`: of the module, or of a function around the TorchScript body.
std::string script_of(const Variant& variant) {
  if (variant.module) return "instr_script_ = torch.jit.script(instr_module_)";
  const Signature& signature = *variant.signature;
  std::string text = "def instr_function(" + joined(signature.arguments) + "):\n" +
                     script_body(variant.torchscript->code) + "    return " + signature.output +
                     "\n";
  return "instr_script_ = torch.jit.CompilationUnit(" + literal_in_python(text) +
         ").instr_function";
}

std::vector<Text> statement_of(const Variant& variant) {
  const auto& signature = variant.signature;
  std::vector<Text> texts;
  const bool is_backward = variant.autograd == Autograd::kForwardBackward;
  const std::string target = is_backward ? signature->output + " = " : "";
  if (is_script(variant.runtime)) {
    texts.push_back({target + call_of("instr_script_", *signature), {}});
  } else if (variant.stmt) {
    texts.push_back(*variant.stmt);
  } else {
    texts.push_back({target + call_of("instr_module_", *signature), {}});
  }
  if (is_backward) {
    const std::string scalar = variant.reduce ? "." + *variant.reduce + "()" : "";
    texts.push_back({signature->output + scalar + ".backward()", {}});
  }
  return texts;
}

std::string indented(const std::string& code) {
  std::string out;
  for (const std::string& line : lines_of(code)) out += "    " + line + "\n";
  return out;
}

}  // namespace

PythonSnippet python_snippet(const Variant& variant) {
  PythonSnippet snippet;
  snippet.module = variant.module_setups;
  snippet.setup = variant.setups;
  if (variant.module) {
    snippet.setup.push_back(
        {fmt::format("instr_module_ = ({})", trim(variant.module->code, " \t\r\n")),
         first_place(*variant.module)});
  }
  snippet.statement = statement_of(variant);
  if (!is_script(variant.runtime)) return snippet;
  snippet.setup.push_back({script_of(variant), variant.torchscript->where});
  std::string trial = fmt::format("for instr_trial_ in range({}):\n", kScriptTrials);
  for (const Text& text : snippet.statement) trial += indented(text.code);
  snippet.setup.push_back({trial, {}});
  return snippet;
}

std::string python_symbol(const PythonSnippet& snippet) {
  std::string text = kGeneratorVersion;
  for (const auto* part : {&snippet.module, &snippet.setup, &snippet.statement}) {
    text += "\n" + std::to_string(part->size());
    for (const Text& one : *part) text += fmt::format("\n{}\n{}", one.code.size(), one.code);
  }
  return "instr_snippet_" + content_hash(text);
}

std::optional<SourceLocation> place_in_python(const PythonSnippet& snippet, int line, int column) {
  std::vector<const Text*> texts;
  for (const auto* part : {&snippet.module, &snippet.setup, &snippet.statement}) {
    for (const Text& one : *part) texts.push_back(&one);
  }
  const int number = line / kPythonLines - 1;
  if (number < 0 || number >= std::ssize(texts)) return std::nullopt;
  const Text& text = *texts[static_cast<std::size_t>(number)];
  if (text.where.file.empty()) return std::nullopt;
  return place_in_lines(text, line % kPythonLines, column);
}

}  // namespace instr
