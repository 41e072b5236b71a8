#include "core/definitions/expand.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <unordered_map>

#include "core/base/text.h"

namespace instr {
namespace {

using Params = std::vector<std::pair<std::string, std::string>>;

struct Kind {
  Backend backend;
  Autograd autograd;
  // Parameters of the key, which texts cannot name. It names only values that were added later.
  Params named;
  std::shared_ptr<const Setting> setting;
};

// Returns true if the snippet has TorchScript, or if the backend prepares a script that can be
// traced: Python needs no text for that.
bool has_script(const Snippet& snippet, Backend backend) {
  return snippet.torchscript || (snippet.language == Language::kPython && snippet.signature &&
                                 facts_of(backend).preparation != Preparation::kNone);
}

// A statement of a benchmark, with the backends that variants are made for.
struct Point {
  const GroupedBenchmark& benchmark;
  const Snippet& snippet;
  const std::vector<Backend>& backends;
  const Snippet* exported = nullptr;  // the Python of which packages are made, if any
};

bool has_body(const Point& point, Backend backend) {
  const Snippet& snippet = point.snippet;
  if (!runs_in(backend, snippet.language)) return false;
  const Body body = facts_of(backend).body;
  if (body != Body::kStatement && snippet.is_explicit) return false;
  switch (body) {
    case Body::kStatement: return true;
    case Body::kScript: return has_script(snippet, backend);
    case Body::kCapturedScript: return snippet.torchscript.has_value();
    case Body::kPackage: return snippet.package || point.exported != nullptr;
    case Body::kTraced:
    case Body::kCompiled:
    case Body::kLazy: return snippet.signature.has_value();
  }
  return false;
}

// Returns the backends that the snippet has a body for. Only compilers have dynamic shapes, and
// eager, which they are compared with.
std::vector<Backend> select_backends(const std::string& shapes, const Point& point) {
  std::vector<Backend> backends = point.backends;
  std::erase_if(backends, [&](Backend backend) {
    return !has_body(point, backend) ||
           (point.benchmark.only_compiling && !is_of_torch_compile(backend));
  });
  if (shapes == kShapes[0]) return backends;
  const bool has_compiler = std::any_of(backends.begin(), backends.end(), is_of_torch_compile);
  std::erase_if(backends, [&](Backend backend) {
    return !is_of_torch_compile(backend) && (backend != Backend::kEager || !has_compiler);
  });
  return backends;
}

// Returns true if an iteration takes a step of the snippet's optimizer.
bool has_optimizer(const Snippet& snippet, Autograd autograd) {
  return snippet.optimizer && snippet.module && snippet.language == Language::kPython &&
         autograd != Autograd::kForward;
}

// The ways to run a snippet that are not its backend's.
struct Circumstances {
  std::shared_ptr<const Setting> setting;
  std::string memory_format;
  std::string shapes;

  Params named() const {
    Params params;
    if (setting != nullptr) params.emplace_back("setting", setting->name);
    if (memory_format != kMemoryFormats[0]) params.emplace_back("memory_format", memory_format);
    if (shapes != kShapes[0]) params.emplace_back("shapes", shapes);
    return params;
  }
};

// Lists the combinations. C++ has no settings and no memory formats, and the arguments that a
// memory format changes are those of the signature.
std::vector<Circumstances> list_circumstances(const Point& point) {
  const bool is_in_python = point.snippet.language == Language::kPython;
  const bool has_arguments = point.snippet.signature && !point.snippet.is_explicit;
  std::vector<Circumstances> all;
  for (const auto& setting : point.benchmark.settings) {
    if (setting != nullptr && !is_in_python) continue;
    for (const std::string& memory_format : point.benchmark.memory_formats) {
      if (memory_format != kMemoryFormats[0] && !(is_in_python && has_arguments)) continue;
      for (const std::string& shapes : point.benchmark.shapes) {
        all.push_back({setting, memory_format, shapes});
      }
    }
  }
  return all;
}

std::vector<Autograd> list_autograds(const Point& point, Backend backend) {
  std::vector<Autograd> autograds{Autograd::kForward};
  const bool has_backward = point.benchmark.autograd && !point.snippet.is_explicit;
  if (!has_backward || !facts_of(backend).keeps_gradients) return autograds;
  autograds.push_back(Autograd::kForwardBackward);
  const bool has_eval = point.benchmark.has_train_eval && point.snippet.module;
  if (has_eval) autograds.push_back(Autograd::kForwardBackwardEval);
  return autograds;
}

std::vector<Kind> list_kinds(const Point& point) {
  std::vector<Kind> kinds;
  for (const Circumstances& how : list_circumstances(point)) {
    for (const Backend backend : select_backends(how.shapes, point)) {
      for (const Autograd autograd : list_autograds(point, backend)) {
        Params named = how.named();
        if (has_optimizer(point.snippet, autograd)) {
          named.emplace_back("optimizer",
                             find_optimizer_name(point.snippet.optimizer->code).value_or("?"));
        }
        kinds.push_back({backend, autograd, std::move(named), how.setting});
      }
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
Params names_in_texts(const GroupedBenchmark& benchmark, Params params, const std::string& device,
                      Autograd autograd) {
  if (benchmark.names_devices) params.emplace_back("device", device);
  if (benchmark.autograd) {
    params.emplace_back("training", autograd == Autograd::kForward ? "false" : "true");
  }
  return params;
}

// Makes the part common to the variants of a statement at one point of the matrix.
Variant make_variant(const Point& point, const Params& params, const std::string& device,
                     Autograd autograd) {
  Variant variant;
  static_cast<Snippet&>(variant) = point.snippet;
  variant.device = device;
  variant.autograd = autograd;
  if (is_on_cuda(variant) && is_differentiated(variant) &&
      point.benchmark.rmse_of_training_on_cuda) {
    variant.tolerance.rmse = point.benchmark.rmse_of_training_on_cuda;
  }
  if (!has_optimizer(variant, autograd)) variant.optimizer.reset();
  const Params given = names_in_texts(point.benchmark, params, device, autograd);
  if (given.empty() || variant.is_explicit) return variant;

  const Params names = variant.language == Language::kPython ? spell_for_python(given) : given;
  variant.description = substitute(variant.description, names);
  for (Text& setup : variant.global_setups) setup.code = substitute(setup.code, names);
  for (Text& setup : variant.setups) setup.code = substitute(setup.code, names);
  substitute_in(variant.stmt, names);
  substitute_in(variant.torchscript, spell_for_python(given));
  substitute_in(variant.module, names);
  substitute_in(variant.package, names);
  substitute_in(variant.optimizer, names);
  return variant;
}

// Sets the Python that is exported, with what the variant has in common with it.
void set_exported(Variant& variant, const Point& point, const Params& params) {
  if (!runs_package(variant.backend) || point.exported == nullptr) return;
  const Point exported{point.benchmark, *point.exported, point.backends};
  Variant python = make_variant(exported, params, variant.device, variant.autograd);
  python.key = variant.key;
  python.params = variant.params;
  python.backend = variant.backend;
  python.threads = variant.threads;
  python.setting = variant.setting;
  variant.exported = std::make_shared<const Variant>(std::move(python));
}

std::string format_key_prefix(const std::string& label, const Params& params, Language language) {
  std::string key = label;
  for (const auto& [name, value] : params) key += "/" + name + "=" + value;
  // C++ was the first language, so its keys do not name it.
  if (language != Language::kCpp) key += std::string("/") + facts_of(language).name;
  return key;
}

void add_variants_at(const Point& point, const std::vector<Kind>& kinds, const Params& params,
                     std::vector<Variant>& variants) {
  const GroupedBenchmark& benchmark = point.benchmark;
  for (const auto& [backend, autograd, more, setting] : kinds) {
    Params named = params;
    named.insert(named.end(), more.begin(), more.end());
    if (benchmark.only_compiling) named.emplace_back(kColdCompile);
    const std::string prefix =
        format_key_prefix(point.snippet.label, named, point.snippet.language);
    for (const int threads : benchmark.threads) {
      for (const std::string& device : benchmark.devices) {
        if (!runs_on(backend, device)) continue;
        Variant& variant = variants.emplace_back(make_variant(point, params, device, autograd));
        variant.key = fmt::format("{}/{}/{}/t{}/{}", prefix, to_string(backend),
                                  to_string(autograd), threads, device);
        variant.params = named;
        variant.compiles = benchmark.compiles || benchmark.only_compiling;
        variant.backend = backend;
        variant.threads = threads;
        variant.setting = setting;
        set_exported(variant, point, params);
      }
    }
  }
}

// Advances `at` to the next combination, the last parameter fastest; false after the last one.
bool advance(const GroupedBenchmark& benchmark, std::vector<std::size_t>& at) {
  for (std::size_t i = at.size(); i-- > 0;) {
    if (++at[i] < benchmark.matrix[i].second.size()) return true;
    at[i] = 0;
  }
  return false;
}

// Returns the number of backends, languages of scripts and the like, each on each of its devices.
std::uint64_t count_runs(const Point& point) {
  std::uint64_t count = 0;
  for (const Kind& kind : list_kinds(point)) {
    for (const std::string& device : point.benchmark.devices)
      count += runs_on(kind.backend, device);
  }
  return count;
}

std::uint64_t count_variants(const Point& point) {
  std::uint64_t count = point.snippet.program ? 1 : count_runs(point);
  count = saturating_product(count, point.benchmark.threads.size());
  for (const auto& [name, values] : point.benchmark.matrix) {
    if (values.empty()) return 0;
    count = saturating_product(count, values.size());
  }
  return count;
}

// Adds the variant of a program at one point of the matrix. Its key has no backend.
void add_program(const Point& point, const Params& params, std::vector<Variant>& variants) {
  Variant& variant = variants.emplace_back();
  static_cast<Snippet&>(variant) = point.snippet;
  variant.key = format_key_prefix(variant.label, params, Language::kCpp);
  variant.params = params;
  Program program = *variant.program;
  for (std::string& word : program.command) word = substitute(word, params);
  variant.program = std::make_shared<const Program>(std::move(program));
}

void add_variants(const Point& point, std::vector<Variant>& variants) {
  if (count_variants(point) == 0) return;
  const GroupedBenchmark& benchmark = point.benchmark;
  const std::vector<Kind> kinds = list_kinds(point);
  std::vector<std::size_t> at(benchmark.matrix.size(), 0);
  do {
    Params params;
    for (std::size_t i = 0; i < at.size(); ++i) {
      params.emplace_back(benchmark.matrix[i].first, benchmark.matrix[i].second[at[i]]);
    }
    if (point.snippet.program) {
      add_program(point, params, variants);
    } else {
      add_variants_at(point, kinds, params, variants);
    }
  } while (advance(benchmark, at));
}

// Runs before anything is expanded, so that even a huge matrix costs nothing.
Errors check_sizes(const std::vector<GroupedBenchmark>& benchmarks,
                   const std::vector<Backend>& backends) {
  Errors errors;
  std::uint64_t total = 0;
  for (const GroupedBenchmark& benchmark : benchmarks) {
    const std::uint64_t count = count_variants(benchmark, backends);
    if (count > kMaxVariantsPerBenchmark) {
      errors.push_back(
          {benchmark.where,
           fmt::format("`{}` makes {} variants, more than the {} allowed for one benchmark",
                       benchmark.label, count, kMaxVariantsPerBenchmark),
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

// A module without a statement in C++ is traced, so it needs no text in TorchScript; a statement
// does.
Snippet make_snippet(const GroupedBenchmark& benchmark, const Statement& statement) {
  Snippet snippet = benchmark;
  const SharedCode& shared = benchmark.in(statement.language);
  snippet.language = statement.language;
  snippet.global_setups = shared.global_setups;
  snippet.setups = shared.setups;
  snippet.module = statement.module ? statement.module : shared.module;
  snippet.label += statement.suffix;
  snippet.stmt = statement.text;
  if (snippet.language == Language::kPython) {
    if (snippet.torchscript)
      snippet.torchscript = statement.text ? *statement.text : *snippet.module;
  } else if (statement.text && snippet.torchscript && is_blank(snippet.torchscript->code)) {
    snippet.torchscript.reset();
  }
  return snippet;
}

namespace {

// Returns the Python that computes the same as this statement, of which AOTInductor can make a
// package; nothing if the definition has a package or no such backend is requested.
std::optional<Snippet> find_exported(const GroupedBenchmark& benchmark, const Statement& statement,
                                     const std::vector<Backend>& backends) {
  if (benchmark.package || !benchmark.signature || std::ranges::none_of(backends, runs_package)) {
    return std::nullopt;
  }
  const auto is_python = [&statement](const Statement& each) {
    return each.language == Language::kPython && each.suffix == statement.suffix;
  };
  const auto python = std::ranges::find_if(benchmark.statements, is_python);
  if (python == benchmark.statements.end()) return std::nullopt;
  return make_snippet(benchmark, *python);
}

// Calls `visit` with the point of each statement.
template <class Visit>
void visit_points(const GroupedBenchmark& benchmark, const std::vector<Backend>& backends,
                  const Visit& visit) {
  for (const Statement& statement : benchmark.statements) {
    const Snippet snippet = make_snippet(benchmark, statement);
    const std::optional<Snippet> exported = find_exported(benchmark, statement, backends);
    visit(Point{benchmark, snippet, backends, exported ? &*exported : nullptr});
  }
}

}  // namespace

std::uint64_t count_variants(const GroupedBenchmark& benchmark,
                             const std::vector<Backend>& backends) {
  std::uint64_t count = 0;
  visit_points(benchmark, backends, [&count](const Point& point) {
    const std::uint64_t more = count_variants(point);
    count = count + more < more ? std::numeric_limits<std::uint64_t>::max() : count + more;
  });
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

tl::expected<std::vector<Variant>, Errors> expand(const std::vector<GroupedBenchmark>& benchmarks,
                                                  const std::vector<Backend>& backends) {
  Errors errors = check_sizes(benchmarks, backends);
  if (!errors.empty()) return tl::unexpected<Errors>(std::move(errors));
  std::vector<Variant> variants;
  for (const GroupedBenchmark& benchmark : benchmarks) {
    visit_points(benchmark, backends,
                 [&variants](const Point& point) { add_variants(point, variants); });
  }
  errors = check_keys(variants);
  if (!errors.empty()) return tl::unexpected<Errors>(std::move(errors));
  return variants;
}

}  // namespace instr
