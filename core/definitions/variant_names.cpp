#include "core/definitions/variant_names.h"

#include <fmt/format.h>

#include "core/base/format.h"

namespace instr {

namespace {

std::string suffix_of(const Variant& variant) {
  std::string suffix;
  for (const auto& [name, value] : variant.params) suffix += " " + name + "=" + value;
  if (variant.threads != 1) suffix += fmt::format(" t{}", variant.threads);
  if (variant.device != "cpu") suffix += " " + variant.device;
  return printable(suffix);
}

std::string without_start(const std::string& text) {
  return text.starts_with(' ') ? text.substr(1) : text;
}

}  // namespace

VariantName name_of(const Variant& variant) {
  const std::string label = printable(variant.label);
  const std::string suffix = suffix_of(variant);
  const std::size_t slash = label.find('/');
  VariantName name;
  name.group = label.substr(0, slash);
  name.full = label + suffix;
  name.row = slash == std::string::npos ? without_start(suffix) : label.substr(slash + 1) + suffix;
  if (name.row.empty()) name.row = label;
  name.column = column_name(variant.language, variant.runtime, variant.autograd);
  return name;
}

std::string column_name(Language language, Runtime runtime, Autograd autograd) {
  std::string name = facts_of(runtime).title;
  if (language != Language::kCpp) {
    const std::string of = facts_of(language).title;
    name = runtime == Runtime::kEager ? of : of + " " + name;
  }
  return autograd == Autograd::kForward ? name : name + " fwd+bwd";
}

}  // namespace instr
