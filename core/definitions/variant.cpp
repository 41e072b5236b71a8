#include "core/definitions/variant.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/format.h"
#include "core/base/text.h"

namespace instr {

namespace {

// Takes "/word" from the end of `key`; empty if there is none.
std::string take_last_part(std::string& key) {
  const auto slash = key.rfind('/');
  if (slash == std::string::npos) return "";
  std::string part = key.substr(slash + 1);
  key.resize(slash);
  return part;
}

// Takes each "/name=value" from the end of `key`.
std::vector<std::pair<std::string, std::string>> take_params(std::string& key) {
  std::vector<std::pair<std::string, std::string>> params;
  for (std::string rest = key;;) {
    const std::string part = take_last_part(rest);
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos || equals == 0) break;
    params.insert(params.begin(), {part.substr(0, equals), part.substr(equals + 1)});
    key = rest;
  }
  return params;
}

std::string format_suffix(const Variant& variant) {
  std::string suffix;
  for (const auto& [name, value] : variant.params) suffix += " " + name + "=" + value;
  if (variant.threads != 1) suffix += fmt::format(" t{}", variant.threads);
  if (variant.device != "cpu") suffix += " " + variant.device;
  return printable(suffix);
}

}  // namespace

Autograd parse_autograd(std::string_view name) {
  const auto* known = std::find(kAutogradNames.begin(), kAutogradNames.end(), name);
  return known == kAutogradNames.end() ? Autograd::kForward
                                       : static_cast<Autograd>(known - kAutogradNames.begin());
}

bool is_on_cuda(const Variant& variant) { return variant.device == "cuda"; }

bool is_import(const Variant& variant) {
  return variant.program && variant.program->kind == ProgramKind::kImport;
}

bool is_only_programs(const std::vector<Variant>& variants) {
  return !variants.empty() && std::ranges::all_of(variants, [](const Variant& variant) {
    return variant.program != nullptr;
  });
}

bool is_differentiated(const Variant& variant) { return variant.autograd != Autograd::kForward; }

bool is_first_call(const Snippet& snippet) { return snippet.warmup == 0; }

bool uses_compiler(const Snippet& snippet) {
  if (snippet.compiles) return true;
  if (snippet.language != Language::kPython) return false;
  static constexpr const char* kNames[] = {"torch.compile",     "torch._dynamo",
                                           "torch._inductor",   "torch.export",
                                           "torch.distributed", "torch.library.custom_op"};
  const auto has_name = [](const Text& text) {
    return std::ranges::any_of(
        kNames, [&text](const char* name) { return text.code.find(name) != std::string::npos; });
  };
  return std::ranges::any_of(snippet.global_setups, has_name) ||
         std::ranges::any_of(snippet.setups, has_name) || (snippet.stmt && has_name(*snippet.stmt));
}

bool needs_compiler(const Variant& variant) {
  const bool loads_package = variant.language == Language::kPython && runs_package(variant.backend);
  return is_compiled(variant.backend) || uses_compiler(variant) || loads_package;
}

bool is_counted_once(const Snippet& snippet) { return is_first_call(snippet) || snippet.compiles; }

Variant parse_key(const std::string& key) {
  Variant variant;
  variant.key = variant.label = key;
  std::string rest = key;
  const std::string device = take_last_part(rest);
  const std::string threads = take_last_part(rest);
  const std::string autograd = take_last_part(rest);
  const std::string backend = take_last_part(rest);
  const auto count = threads.starts_with('t')
                         ? parse_number<int>(std::string_view(threads).substr(1))
                         : std::nullopt;
  if (!count) return variant;
  const std::string in_python = std::string("/") + facts_of(Language::kPython).name;
  if (rest.ends_with(in_python)) {
    variant.language = Language::kPython;
    rest.resize(rest.size() - in_python.size());
  }
  variant.params = take_params(rest);
  variant.label = rest;
  variant.device = device;
  variant.threads = *count;
  variant.autograd = parse_autograd(autograd);
  variant.backend = find_backend(backend).value_or(Backend::kEager);
  return variant;
}

VariantName name_variant(const Variant& variant) {
  const std::string label = printable(variant.label);
  const std::string suffix = format_suffix(variant);
  const std::size_t slash = label.find('/');
  VariantName name;
  name.group = label.substr(0, slash);
  name.full = label + suffix;
  name.row = slash == std::string::npos ? suffix.substr(suffix.empty() ? 0 : 1)
                                        : label.substr(slash + 1) + suffix;
  if (name.row.empty()) name.row = label;
  name.column = format_column_name(variant.language, variant.backend, variant.autograd);
  return name;
}

std::string format_column_name(Language language, Backend backend, Autograd autograd) {
  std::string name = facts_of(backend).title;
  if (language != Language::kCpp) {
    const std::string title = facts_of(language).title;
    name = backend == Backend::kEager ? title : title + " " + name;
  }
  switch (autograd) {
    case Autograd::kForward: return name;
    case Autograd::kForwardBackward: return name + " fwd+bwd";
    case Autograd::kForwardBackwardEval: return name + " fwd+bwd in eval";
  }
  return name;
}

}  // namespace instr
