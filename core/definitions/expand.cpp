#include "core/definitions/expand.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <unordered_map>

namespace instr {
namespace {

using Params = std::vector<std::pair<std::string, std::string>>;

struct Kind {
  Backend backend;
  Autograd autograd;
  bool has_dynamic_shapes;
};

bool has_body(const Definition& definition, Backend backend) {
  if (!runs_in(backend, definition.language)) return false;
  switch (facts_of(backend).body) {
    case Body::kStatement: return true;
    case Body::kScript:
    case Body::kCapturedScript: return definition.torchscript && !definition.is_explicit;
    case Body::kPackage: return definition.package && !definition.is_explicit;
    case Body::kTraced:
    case Body::kCompiled:
    case Body::kLazy: return definition.signature && !definition.is_explicit;
  }
  return false;
}

// Returns the backends that the definition has a body for. Only compilers have dynamic shapes, and
// eager, which they are compared with.
std::vector<Backend> select_backends(const std::string& shapes, const Definition& definition,
                                     std::vector<Backend> backends) {
  std::erase_if(backends, [&](Backend backend) {
    return !has_body(definition, backend) ||
           (definition.only_compiling && !is_of_torch_compile(backend));
  });
  if (shapes == kShapes[0]) return backends;
  const bool has_compiler = std::any_of(backends.begin(), backends.end(), is_of_torch_compile);
  std::erase_if(backends, [&](Backend backend) {
    return !is_of_torch_compile(backend) && (backend != Backend::kEager || !has_compiler);
  });
  return backends;
}

std::vector<Kind> list_kinds(const Definition& definition, const std::vector<Backend>& backends) {
  const bool is_differentiated = definition.autograd && !definition.is_explicit;
  std::vector<Kind> kinds;
  for (const std::string& shapes : definition.shapes) {
    const bool is_dynamic = shapes != kShapes[0];
    for (const Backend backend : select_backends(shapes, definition, backends)) {
      kinds.push_back({backend, Autograd::kForward, is_dynamic});
      if (!is_differentiated || !facts_of(backend).keeps_gradients) continue;
      kinds.push_back({backend, Autograd::kForwardBackward, is_dynamic});
    }
  }
  return kinds;
}

// Spells truth values as Python, and so TorchScript, does.
Params spell_for_python(Params params) {
  for (auto& [name, value] : params) {
    if (value == "true") value = "True";
    if (value == "false") value = "False";
  }
  return params;
}

void substitute_in(std::optional<Text>& text, const Params& params) {
  if (text) text->code = substitute(text->code, params);
}

// Returns the names that texts may have in braces. Of two equal names the first is used, so
// parameters take precedence.
Params names_in_texts(const Definition& definition, Params params, const std::string& device,
                      Autograd autograd) {
  if (definition.names_devices) params.emplace_back("device", device);
  if (definition.autograd) {
    params.emplace_back("training", autograd == Autograd::kForwardBackward ? "true" : "false");
  }
  return params;
}

// Makes the part common to the variants of a definition at one point of its matrix.
Variant make_variant(const Definition& definition, const Params& params, const std::string& device,
                     Autograd autograd) {
  Variant variant;
  static_cast<Snippet&>(variant) = definition;
  variant.device = device;
  variant.autograd = autograd;
  const Params given = names_in_texts(definition, params, device, autograd);
  if (given.empty() || definition.is_explicit) return variant;

  const Params names = definition.language == Language::kPython ? spell_for_python(given) : given;
  variant.description = substitute(variant.description, names);
  for (Text& setup : variant.global_setups) setup.code = substitute(setup.code, names);
  for (Text& setup : variant.setups) setup.code = substitute(setup.code, names);
  substitute_in(variant.stmt, names);
  substitute_in(variant.torchscript, spell_for_python(given));
  substitute_in(variant.module, names);
  substitute_in(variant.package, names);
  return variant;
}

std::string format_key_prefix(const std::string& label, const Params& params, Language language) {
  std::string key = label;
  for (const auto& [name, value] : params) key += "/" + name + "=" + value;
  // C++ was the first language, so its keys do not name it.
  if (language != Language::kCpp) key += std::string("/") + facts_of(language).name;
  return key;
}

void add_variants_at(const Definition& definition, const std::vector<Kind>& kinds,
                     const Params& params, std::vector<Variant>& variants) {
  for (const auto& [backend, autograd, has_dynamic_shapes] : kinds) {
    // Texts cannot name the shapes; keys name only dynamic ones, which were added later.
    Params named = params;
    if (has_dynamic_shapes) named.emplace_back("shapes", kShapes[1]);
    if (definition.only_compiling) named.emplace_back(kColdCompile);
    const std::string prefix = format_key_prefix(definition.label, named, definition.language);
    for (const int threads : definition.threads) {
      for (const std::string& device : definition.devices) {
        if (!runs_on(backend, device)) continue;
        Variant& variant =
            variants.emplace_back(make_variant(definition, params, device, autograd));
        variant.key = fmt::format("{}/{}/{}/t{}/{}", prefix, to_string(backend),
                                  to_string(autograd), threads, device);
        variant.params = named;
        variant.compiles = definition.compiles || definition.only_compiling;
        variant.backend = backend;
        variant.threads = threads;
      }
    }
  }
}

// Advances `at` to the next combination, the last parameter fastest; false after the last one.
bool advance(const Definition& definition, std::vector<std::size_t>& at) {
  for (std::size_t i = at.size(); i-- > 0;) {
    if (++at[i] < definition.matrix[i].second.size()) return true;
    at[i] = 0;
  }
  return false;
}

void add_definition(const Definition& definition, const std::vector<Backend>& backends,
                    std::vector<Variant>& variants) {
  if (count_variants(definition, backends) == 0) return;
  const std::vector<Kind> kinds = list_kinds(definition, backends);
  std::vector<std::size_t> at(definition.matrix.size(), 0);
  do {
    Params params;
    for (std::size_t i = 0; i < at.size(); ++i) {
      params.emplace_back(definition.matrix[i].first, definition.matrix[i].second[at[i]]);
    }
    add_variants_at(definition, kinds, params, variants);
  } while (advance(definition, at));
}

// Runs before anything is expanded, so that even a huge matrix costs nothing.
Errors check_sizes(const std::vector<Definition>& definitions,
                   const std::vector<Backend>& backends) {
  Errors errors;
  std::uint64_t total = 0;
  for (const Definition& definition : definitions) {
    const std::uint64_t count = count_variants(definition, backends);
    if (count > kMaxVariantsPerBenchmark) {
      errors.push_back(
          {definition.where,
           fmt::format("`{}` makes {} variants, more than the {} allowed for one benchmark",
                       definition.label, count, kMaxVariantsPerBenchmark),
           "give its matrix fewer values, or split it into several benchmarks"});
    } else {
      total += count;
    }
  }
  if (total > kMaxVariants) {
    errors.push_back(
        {{},
         fmt::format("the definitions make {} variants, more than the {} allowed in one run", total,
                     kMaxVariants),
         "load fewer definitions at a time"});
  }
  return errors;
}

Errors check_keys(const std::vector<Variant>& variants) {
  Errors errors;
  std::unordered_map<std::string_view, const Variant*> by_key;
  by_key.reserve(variants.size());
  // Two benchmarks with the same label have many equal keys; one message is enough.
  std::set<std::pair<std::string, std::string>> reported;
  for (const Variant& variant : variants) {
    const auto [it, is_new] = by_key.emplace(variant.key, &variant);
    if (is_new) continue;
    const SourceLocation& first = it->second->where;
    const std::string other = first.file.empty() ? "another definition" : to_string(first);
    if (!reported.emplace(other, to_string(variant.where)).second) continue;
    errors.push_back(
        {variant.where,
         fmt::format("two variants have the key `{}`; the other is at {}", variant.key, other),
         "give one of them another label"});
  }
  return errors;
}

}  // namespace

std::uint64_t saturating_product(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
  return b != 0 && a > kMax / b ? kMax : a * b;
}

std::uint64_t count_variants(const Definition& definition, const std::vector<Backend>& backends) {
  std::uint64_t count = 0;
  for (const Kind& kind : list_kinds(definition, backends)) {
    for (const std::string& device : definition.devices) count += runs_on(kind.backend, device);
  }
  count = saturating_product(count, definition.threads.size());
  for (const auto& [name, values] : definition.matrix) {
    if (values.empty()) return 0;
    count = saturating_product(count, values.size());
  }
  return count;
}

std::string substitute(std::string_view code, const Params& params) {
  std::string result;
  result.reserve(code.size());
  for (std::size_t at = 0; at < code.size();) {
    const std::size_t brace = std::min(code.find('{', at), code.size());
    result += code.substr(at, brace - at);
    at = brace;
    if (brace == code.size()) break;
    const auto matches = [&](const auto& param) {
      const std::string_view rest = code.substr(brace + 1);
      return rest.starts_with(param.first) && rest.substr(param.first.size()).starts_with('}');
    };
    const auto param = std::find_if(params.begin(), params.end(), matches);
    if (param == params.end()) {
      result += '{';
      ++at;
    } else {
      result += param->second;
      at += param->first.size() + 2;
    }
  }
  return result;
}

tl::expected<std::vector<Variant>, Errors> expand(const std::vector<Definition>& definitions,
                                                  const std::vector<Backend>& backends) {
  Errors errors = check_sizes(definitions, backends);
  if (!errors.empty()) return tl::unexpected<Errors>(std::move(errors));
  std::vector<Variant> variants;
  for (const Definition& definition : definitions) add_definition(definition, backends, variants);
  errors = check_keys(variants);
  if (!errors.empty()) return tl::unexpected<Errors>(std::move(errors));
  return variants;
}

}  // namespace instr
