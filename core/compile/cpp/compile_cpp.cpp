#include "core/compile/cpp/compile_cpp.h"

#include <algorithm>
#include <mutex>
#include <ranges>

#include "core/base/content_hash.h"
#include "core/base/format.h"
#include "core/base/text.h"
#include "core/compile/cpp/compile_unit.h"
#include "core/compile/cpp/diagnostics.h"
#include "core/compile/cpp/generate_cpp.h"
#include "core/compile/cpp/self_contained.h"
#include "core/compile/language_support.h"
#include "core/results/measurement.h"

namespace instr {

namespace {

bool can_share(const Variant& variant) {
  if (!is_self_contained(split_global(global_code(variant)).rest)) return false;
  const auto texts = list_texts(variant);
  return std::all_of(texts.begin(), texts.end(),
                     [](const Text* text) { return is_self_contained(text->code); });
}

// Makes a text that must be equal for two variants to share a unit.
std::string make_group_key(const Variant& variant, const UnitFunction& function, Purpose purpose) {
  const bool is_verified = purpose == Purpose::kVerify && !variant.global_setups.empty();
  if (!can_share(variant)) return "alone " + (is_verified ? function.eager : function.symbol);
  std::string key =
      "build " + std::to_string(reinterpret_cast<std::uintptr_t>(variant.build.get()));
  if (!is_verified && facts_of(variant.backend).cuda_header != nullptr)
    key += " with CUDA's headers";
  return key + "\n" + global_code(variant);
}

UnitFunction make_function(const Variant& variant, Purpose purpose) {
  const std::string symbol = make_snippet_symbol(variant, purpose);
  return {symbol,
          {},
          is_candidate(variant) ? make_snippet_symbol(make_eager(variant), purpose) : symbol};
}

// Groups functions that are compared with each other, in the order of each group's first.
std::vector<std::vector<UnitFunction>> group_compared(const std::vector<UnitFunction>& functions) {
  std::vector<std::vector<UnitFunction>> sets;
  std::map<std::string, std::size_t> set_at;
  for (const UnitFunction& function : functions) {
    auto [it, is_new] = set_at.try_emplace(function.eager, sets.size());
    if (is_new) sets.emplace_back();
    sets[it->second].push_back(function);
  }
  return sets;
}

}  // namespace

std::vector<FunctionGroup> group_functions(const std::vector<Variant>& variants, Purpose purpose) {
  std::vector<FunctionGroup> groups;
  std::map<std::string, std::size_t> group_at;
  std::map<std::pair<std::size_t, std::string>, std::size_t> function_at;
  for (const auto& variant : variants) {
    UnitFunction function = make_function(variant, purpose);
    auto [group, is_new_group] =
        group_at.try_emplace(make_group_key(variant, function, purpose), groups.size());
    if (is_new_group) groups.push_back({{}, !variant.global_setups.empty()});
    auto& functions = groups[group->second].functions;
    auto [it, is_new] = function_at.try_emplace({group->second, function.symbol}, functions.size());
    if (is_new) functions.push_back(std::move(function));
    functions[it->second].variants.push_back(variant);
  }
  return groups;
}

std::vector<std::vector<UnitFunction>> cut_units(const std::vector<FunctionGroup>& groups,
                                                 int jobs) {
  std::size_t total = 0;
  for (const auto& group : groups) total += group.functions.size();
  std::vector<std::vector<UnitFunction>> units;
  for (const auto& group : groups) {
    const auto sets = group_compared(group.functions);
    if (sets.empty()) continue;
    const std::size_t size = group.functions.size();
    const std::size_t share =
        (static_cast<std::size_t>(std::max(jobs, 1)) * size + total / 2) / total;
    const std::size_t needed = (size + kMaxUnitSize - 1) / kMaxUnitSize;
    const std::size_t count = std::clamp(std::max(share, needed), std::size_t{1}, sets.size());
    for (std::size_t i = 0; i < count; ++i) {
      auto& unit = units.emplace_back();
      for (std::size_t at = sets.size() * i / count; at < sets.size() * (i + 1) / count; ++at) {
        unit.insert(unit.end(), sets[at].begin(), sets[at].end());
      }
    }
  }
  std::ranges::stable_sort(units, std::greater(), std::ranges::size);
  return units;
}

std::vector<std::vector<UnitFunction>> cut_all(const std::vector<FunctionGroup>& groups) {
  std::vector<std::vector<UnitFunction>> units;
  for (const auto& group : groups) {
    for (const auto& function : group.functions) units.push_back({function});
  }
  return units;
}

namespace {

constexpr std::size_t kMaxRawMessage = 2000;  // characters

using Report = std::function<void(UnitResult)>;

void add_compiled(UnitResult& result, const UnitFunction& function, const fs::path& unit) {
  for (const auto& variant : function.variants) {
    result.compiled.push_back({variant, unit, function.symbol});
  }
}

// Formats the compiler's output, none of which could be parsed.
std::string format_raw_message(const Variant& variant, const std::string& errors) {
  const std::string text = errors.substr(0, kMaxRawMessage);
  return to_string(Error{variant.where, "does not compile [in " + variant.key + "]",
                         std::string(trim_end(text, "\n"))});
}

void add_failed(UnitResult& result, const UnitFunction& function,
                const std::vector<Diagnostic>& diagnostics, const std::string& errors,
                const LinkedCode& linked) {
  for (const auto& variant : function.variants) {
    std::string message = describe(variant, diagnostics, linked);
    if (message.empty()) message = format_raw_message(variant, errors);
    result.failed.push_back(make_compile_failure(variant, std::move(message)));
  }
}

// Compiles units until each of their functions is compiled or found to be at fault.
class UnitJob {
 public:
  UnitJob(UnitCompiler& compiler, const BuildContext& context, const Report& report)
      : compiler_(compiler), context_(context), report_(report) {}

  Expected<void> run(std::vector<UnitFunction> functions) {
    while (!functions.empty()) {
      std::vector<Variant> variants;
      for (const auto& function : functions) variants.push_back(function.variants.front());
      TRY_ASSIGN(auto unit, compiler_.compile(context_, variants));
      if (unit.file) {
        UnitResult result;
        for (const auto& function : functions) add_compiled(result, function, *unit.file);
        report_(std::move(result));
        return {};
      }
      std::size_t before = functions.size();
      if (unit.apart.empty()) drop_blamed(functions, unit.errors, unit.apart);
      for (UnitFunction& function : take_out(functions, unit.apart))
        TRY(run({std::move(function)}));
      if (functions.size() == before) return run_halves(std::move(functions));
    }
    return {};
  }

 private:
  // Removes and returns the functions with these symbols.
  static std::vector<UnitFunction> take_out(std::vector<UnitFunction>& functions,
                                            const std::set<std::string>& symbols) {
    auto first = std::stable_partition(
        functions.begin(), functions.end(),
        [&](const UnitFunction& each) { return !symbols.contains(each.symbol); });
    std::vector<UnitFunction> taken(first, functions.end());
    functions.erase(first, functions.end());
    return taken;
  }

  // Removes and reports the functions that the compiler's errors are about. Adds functions whose
  // errors also mention another function, which may be at fault, to `apart`: each is compiled
  // alone.
  void drop_blamed(std::vector<UnitFunction>& functions, const std::string& errors,
                   std::set<std::string>& apart) {
    std::map<std::string, std::vector<Diagnostic>> by_symbol;
    for (auto& diagnostic : parse_diagnostics(errors)) {
      by_symbol[diagnostic.symbol].push_back(std::move(diagnostic));
    }
    bool is_alone = functions.size() == 1;
    UnitResult result;
    std::vector<UnitFunction> left;
    for (const auto& function : functions) {
      std::vector<Diagnostic> about = by_symbol["shared"];
      const auto& own = by_symbol[function.symbol];
      about.insert(about.end(), own.begin(), own.end());
      if (is_alone && about.empty()) about = by_symbol[""];
      bool is_doubtful =
          std::any_of(own.begin(), own.end(), [](const auto& each) { return each.names_another; });
      if (is_doubtful && !is_alone) apart.insert(function.symbol);
      if (!is_alone && (about.empty() || is_doubtful)) {
        left.push_back(function);
      } else {
        add_failed(result, function, about, errors, context_.linked);
      }
    }
    report_(std::move(result));
    functions = std::move(left);
  }

  // No function could be blamed: compiles each half separately, down to one function.
  Expected<void> run_halves(std::vector<UnitFunction> functions) {
    auto middle = functions.begin() + static_cast<std::ptrdiff_t>(functions.size() / 2);
    TRY(run({functions.begin(), middle}));
    return run({middle, functions.end()});
  }

  UnitCompiler& compiler_;
  const BuildContext& context_;
  const Report& report_;
};

std::map<const BuildOptions*, std::vector<Variant>> group_by_build(
    const std::vector<Variant>& variants) {
  std::map<const BuildOptions*, std::vector<Variant>> groups;
  for (const auto& variant : variants) groups[variant.build.get()].push_back(variant);
  return groups;
}

struct BuildWork {
  BuildContext context;
  std::vector<FunctionGroup> missing;  // groups that are not cached
};

class Compilation {
 public:
  Compilation(const CompileOptions& options, UnitCompiler& compiler, const Report& report,
              std::stop_token stop)
      : options_(options), compiler_(compiler), report_(report), stop_(std::move(stop)) {}

  Expected<void> run(const std::vector<Variant>& variants) {
    std::vector<BuildWork> works;
    for (const auto& [build, group] : group_by_build(variants)) {
      auto context = compiler_.prepare(group.front().build);
      if (stop_.stop_requested()) return {};
      if (!context) {
        fail_all(group, to_string(context.error()));
      } else if (context->failure) {
        fail_build(group, *context);
      } else {
        works.push_back(
            {*context, report_cached(*context, group_functions(group, options_.purpose))});
      }
    }
    return compile_missing(works);
  }

 private:
  void fail_all(const std::vector<Variant>& variants, const std::string& message) {
    UnitResult result;
    for (const auto& variant : variants)
      result.failed.push_back(make_compile_failure(variant, message));
    report_(std::move(result));
  }

  // Reports that the user's own sources, or LibTorch's headers with the user's flags, do not
  // compile.
  void fail_build(const std::vector<Variant>& variants, const BuildContext& context) {
    SourceLocation where = context.build ? context.build->where : SourceLocation{};
    const std::string& errors = *context.failure;
    const auto linker = describe_linker_errors(errors, context.linked);
    const Error error{
        where,
        linker ? "the user's own code " + *linker : "the user's own code or flags do not compile",
        linker ? "" : errors.substr(0, kMaxRawMessage)};
    fail_all(variants, to_string(error));
  }

  // Reports cached functions, a result per unit, and returns the others.
  std::vector<FunctionGroup> report_cached(const BuildContext& context,
                                           std::vector<FunctionGroup> groups) {
    std::map<fs::path, UnitResult> cached;
    std::vector<FunctionGroup> missing;
    for (auto& group : groups) {
      std::vector<std::optional<fs::path>> units;
      for (const auto& function : group.functions) {
        units.push_back(compiler_.find(context, function.symbol, function.variants.front()));
      }
      if (options_.purpose == Purpose::kVerify && group.has_global_setup) {
        drop_separated(units, group.functions);
      }
      link_all(context, units);
      FunctionGroup rest{{}, group.has_global_setup};
      for (std::size_t i = 0; i < units.size(); ++i) {
        if (units[i]) {
          add_compiled(cached[*units[i]], group.functions[i], *units[i]);
        } else {
          rest.functions.push_back(group.functions[i]);
        }
      }
      if (!rest.functions.empty()) missing.push_back(std::move(rest));
    }
    for (auto& [unit, result] : cached) report_(std::move(result));
    return missing;
  }

  // Replaces objects by their units; drops those that do not link, as the user's library may lack a
  // function now: to compile them again reports it.
  void link_all(const BuildContext& context, std::vector<std::optional<fs::path>>& objects) {
    std::map<fs::path, std::optional<fs::path>> units;
    for (const auto& object : objects) {
      if (object) units[*object];
    }
    std::vector<decltype(units)::value_type*> all;
    for (auto& each : units) all.push_back(&each);
    (void)run_parallel(all.size(), options_.jobs, [&](std::size_t i) -> Expected<void> {
      if (auto unit = compiler_.link(context, all[i]->first)) all[i]->second = *std::move(unit);
      return {};
    });
    for (auto& object : objects) {
      if (object) object = units[*object];
    }
  }

  // Drops the units of functions that are compared with each other but are in different units.
  static void drop_separated(std::vector<std::optional<fs::path>>& units,
                             const std::vector<UnitFunction>& functions) {
    std::map<std::string, std::set<std::optional<fs::path>>> by_eager;
    for (std::size_t i = 0; i < units.size(); ++i) by_eager[functions[i].eager].insert(units[i]);
    for (std::size_t i = 0; i < units.size(); ++i) {
      if (by_eager[functions[i].eager].size() > 1) units[i].reset();
    }
  }

  struct Job {
    const BuildContext* context;
    std::vector<UnitFunction> functions;
  };

  Expected<void> compile_missing(std::vector<BuildWork>& works) {
    std::vector<Job> jobs;
    for (auto& work : works) {
      auto units =
          options_.each_alone ? cut_all(work.missing) : cut_units(work.missing, options_.jobs);
      if (units.empty() || stop_.stop_requested()) continue;
      if (auto header = compiler_.prepare_header(work.context, units.size()); !header) {
        if (stop_.stop_requested()) return {};
        return header;
      }
      if (work.context.failure && !work.context.build) {
        return fail("LibTorch's headers do not compile with " + options_.toolchain.version,
                    work.context.failure->substr(0, kMaxRawMessage));
      }
      for (auto& unit : units) {
        if (work.context.failure) {
          for (const auto& function : unit) fail_build(function.variants, work.context);
        } else {
          jobs.push_back({&work.context, std::move(unit)});
        }
      }
    }
    return run_jobs(jobs);
  }

  Expected<void> run_jobs(std::vector<Job>& jobs) {
    std::size_t count = 0;
    for (const auto& job : jobs) count += job.functions.size();
    if (count == 0) return {};
    const Phase phase =
        begin_phase(options_.on_phase, "compiling " + format_plural(count, "snippet"));
    return run_parallel(jobs.size(), options_.jobs, [&](std::size_t i) -> Expected<void> {
      if (stop_.stop_requested()) return {};
      auto done = UnitJob(compiler_, *jobs[i].context, report_).run(std::move(jobs[i].functions));
      return stop_.stop_requested() ? Expected<void>() : done;
    });
  }

  const CompileOptions& options_;
  UnitCompiler& compiler_;
  const Report& report_;
  std::stop_token stop_;
};

}  // namespace

Expected<std::set<std::string>> find_compiled(const std::vector<Variant>& variants,
                                              const CompileOptions& options, Cache& cache) {
  TRY_ASSIGN(auto compiler, UnitCompiler::make(options, cache, {}));
  std::set<std::string> keys;
  for (const auto& [build, same_build] : group_by_build(variants)) {
    if (build != nullptr && !build->sources.empty()) continue;
    auto context = compiler.prepare(same_build.front().build);
    if (!context) continue;  // a run will report why
    for (const auto& group : group_functions(same_build, options.purpose)) {
      for (const auto& function : group.functions) {
        if (!compiler.find(*context, function.symbol, function.variants.front())) continue;
        for (const auto& variant : function.variants) keys.insert(variant.key);
      }
    }
  }
  return keys;
}

Expected<std::map<std::string, std::string>> identify(const std::vector<Variant>& variants,
                                                      const CompileOptions& options, Cache& cache,
                                                      std::stop_token stop) {
  TRY_ASSIGN(auto compiler, UnitCompiler::make(options, cache, stop));
  std::map<std::string, std::string> hashes;
  for (const auto& [build, same_build] : group_by_build(variants)) {
    const auto context = compiler.prepare(same_build.front().build);
    if (stop.stop_requested()) return fail("interrupted");
    const std::string built = context ? context->hash + context->link_hash +
                                            context->failure.value_or("") +
                                            context->linked.sources.value_or("").filename().string()
                                      : to_string(context.error());
    for (const Variant& variant : same_build) {
      hashes[variant.key] =
          content_hash(built + "\n" + list_symbols(variant, [](const auto& each, Purpose purpose) {
                         return make_snippet_symbol(each, purpose);
                       }));
    }
  }
  return hashes;
}

Expected<void> compile(const std::vector<Variant>& variants, const CompileOptions& options,
                       Cache& cache, const std::function<void(UnitResult)>& on_unit,
                       std::stop_token stop) {
  TRY_ASSIGN(auto compiler, UnitCompiler::make(options, cache, stop));
  std::mutex mutex;
  const Report report = [&](UnitResult result) {
    if (result.compiled.empty() && result.failed.empty()) return;
    std::lock_guard guard(mutex);
    on_unit(std::move(result));
  };
  return Compilation(options, compiler, report, stop).run(variants);
}

}  // namespace instr
