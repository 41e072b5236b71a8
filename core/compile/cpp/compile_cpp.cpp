#include "core/compile/cpp/compile_cpp.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "core/base/format.h"
#include "core/base/trim.h"
#include "core/compile/cpp/compile_plan.h"
#include "core/compile/cpp/compile_unit.h"
#include "core/compile/cpp/diagnostics.h"

namespace instr {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMaxRawMessage = 2000;  // characters

// Reports the results of units, one call at a time.
class Reporter {
 public:
  explicit Reporter(const std::function<void(UnitResult)>& on_unit) : on_unit_(on_unit) {}

  void report(UnitResult result) {
    if (result.compiled.empty() && result.failed.empty()) return;
    std::lock_guard guard(mutex_);
    on_unit_(std::move(result));
  }

 private:
  const std::function<void(UnitResult)>& on_unit_;
  std::mutex mutex_;
};

void add_compiled(UnitResult& result, const UnitFunction& function, const fs::path& unit) {
  for (const auto& variant : function.variants) {
    result.compiled.push_back({variant, unit, function.symbol});
  }
}

// The compiler's output, if none of it could be parsed.
std::string raw_message(const Variant& variant, const std::string& errors) {
  const std::string text = errors.substr(0, kMaxRawMessage);
  return to_string(Error{variant.where, "does not compile [in " + variant.key + "]",
                         std::string(trim_end(text, "\n"))});
}

void add_failed(UnitResult& result, const UnitFunction& function,
                const std::vector<Diagnostic>& diagnostics, const std::string& errors) {
  for (const auto& variant : function.variants) {
    std::string message = describe(variant, diagnostics);
    if (message.empty()) message = raw_message(variant, errors);
    result.failed.push_back(make_compile_failure(variant, std::move(message)));
  }
}

// Compiles units until each of their functions is compiled or found to be at fault.
class UnitJob {
 public:
  UnitJob(UnitCompiler& compiler, const BuildContext& context, Reporter& reporter)
      : compiler_(compiler), context_(context), reporter_(reporter) {}

  Expected<void> run(std::vector<UnitFunction> functions) {
    while (!functions.empty()) {
      std::vector<Variant> variants;
      for (const auto& function : functions) variants.push_back(function.variants.front());
      TRY_ASSIGN(auto unit, compiler_.compile(context_, variants));
      if (unit.object) {
        UnitResult result;
        for (const auto& function : functions) add_compiled(result, function, *unit.object);
        reporter_.report(std::move(result));
        return {};
      }
      std::size_t before = functions.size();
      if (unit.apart.empty()) drop_blamed(functions, unit.says.errors, unit.apart);
      TRY(run_each(taken_out(functions, unit.apart)));
      if (functions.size() == before) return run_halves(std::move(functions));
    }
    return {};
  }

 private:
  // Removes those with these symbols.
  static std::vector<UnitFunction> taken_out(std::vector<UnitFunction>& functions,
                                             const std::set<std::string>& symbols) {
    auto first = std::stable_partition(
        functions.begin(), functions.end(),
        [&](const UnitFunction& each) { return !symbols.contains(each.symbol); });
    std::vector<UnitFunction> taken(first, functions.end());
    functions.erase(first, functions.end());
    return taken;
  }

  Expected<void> run_each(const std::vector<UnitFunction>& functions) {
    for (const auto& function : functions) {
      if (auto ran = run({function}); !ran) return ran;
    }
    return {};
  }

  // Removes and reports those that the compiler's errors are about; those whose errors also mention
  // another function, which may be at fault, are to be compiled `apart`.
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
        add_failed(result, function, about, errors);
      }
    }
    reporter_.report(std::move(result));
    functions = std::move(left);
  }

  // No function could be blamed: compiles each half separately, down to one function.
  Expected<void> run_halves(std::vector<UnitFunction> functions) {
    auto middle = functions.begin() + static_cast<std::ptrdiff_t>(functions.size() / 2);
    if (auto first = run({functions.begin(), middle}); !first) return first;
    return run({middle, functions.end()});
  }

  UnitCompiler& compiler_;
  const BuildContext& context_;
  Reporter& reporter_;
};

std::map<const BuildOptions*, std::vector<Variant>> by_build(const std::vector<Variant>& variants) {
  std::map<const BuildOptions*, std::vector<Variant>> groups;
  for (const auto& variant : variants) groups[variant.build.get()].push_back(variant);
  return groups;
}

// All variants with the same build options, and the units to be made for them.
struct BuildWork {
  BuildContext context;
  std::vector<FunctionGroup> missing;  // what the cache lacks
};

class Compilation {
 public:
  Compilation(const CompileOptions& options, UnitCompiler& compiler, Reporter& reporter,
              std::stop_token stop)
      : options_(options), compiler_(compiler), reporter_(reporter), stop_(std::move(stop)) {}

  Expected<void> run(const std::vector<Variant>& variants) {
    std::vector<BuildWork> works;
    for (const auto& [build, its_variants] : by_build(variants)) {
      auto context = compiler_.prepare(its_variants.front().build);
      if (stop_.stop_requested()) return {};
      if (!context) {
        fail_all(its_variants, to_string(context.error()));
      } else if (context->failure) {
        fail_build(its_variants, *context);
      } else {
        works.push_back(
            {*context, report_cached(*context, group_functions(its_variants, options_.purpose))});
      }
    }
    return compile_missing(works);
  }

 private:
  void fail_all(const std::vector<Variant>& variants, const std::string& message) {
    UnitResult result;
    for (const auto& variant : variants)
      result.failed.push_back(make_compile_failure(variant, message));
    reporter_.report(std::move(result));
  }

  // The user's own sources, or LibTorch's headers with the user's flags, do not compile.
  void fail_build(const std::vector<Variant>& variants, const BuildContext& context) {
    SourceLocation where = context.build ? context.build->where : SourceLocation{};
    if (auto words = describe_linker_errors(context.failure->errors, context.build.get())) {
      return fail_all(variants, to_string(Error{where, "the user's own code " + *words, ""}));
    }
    std::string words = context.failure->errors.substr(0, kMaxRawMessage);
    fail_all(variants,
             to_string(Error{where, "the user's own code or flags do not compile", words}));
  }

  // Reports those in the cache, a result per unit, and returns the rest.
  std::vector<FunctionGroup> report_cached(const BuildContext& context,
                                           std::vector<FunctionGroup> groups) {
    std::map<fs::path, UnitResult> found;
    std::vector<FunctionGroup> missing;
    for (auto& group : groups) {
      std::vector<std::optional<fs::path>> units;
      for (const auto& function : group.functions) {
        units.push_back(compiler_.find(context, function.symbol, function.variants.front()));
      }
      if (options_.purpose == Purpose::kVerify && group.has_global_setup) {
        drop_separated(units, group.functions);
      }
      FunctionGroup rest{{}, group.has_global_setup};
      for (std::size_t i = 0; i < units.size(); ++i) {
        if (units[i]) {
          add_compiled(found[*units[i]], group.functions[i], *units[i]);
        } else {
          rest.functions.push_back(group.functions[i]);
        }
      }
      if (!rest.functions.empty()) missing.push_back(std::move(rest));
    }
    for (auto& [unit, result] : found) reporter_.report(std::move(result));
    return missing;
  }

  // Takes the units away from functions that are compared with each other but do not share one.
  static void drop_separated(std::vector<std::optional<fs::path>>& units,
                             const std::vector<UnitFunction>& functions) {
    std::map<std::string, std::set<std::optional<fs::path>>> units_of;
    for (std::size_t i = 0; i < units.size(); ++i) units_of[functions[i].eager].insert(units[i]);
    for (std::size_t i = 0; i < units.size(); ++i) {
      if (units_of[functions[i].eager].size() > 1) units[i].reset();
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
                    work.context.failure->errors.substr(0, kMaxRawMessage));
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

  void report_phase(const std::vector<Job>& jobs) {
    std::size_t count = 0;
    for (const auto& job : jobs) count += job.functions.size();
    if (count == 0 || !options_.on_phase) return;
    options_.on_phase("compiling " + format_plural(count, "snippet"));
  }

  Expected<void> run_jobs(std::vector<Job>& jobs) {
    report_phase(jobs);
    std::atomic<std::size_t> next{0};
    std::mutex mutex;
    Expected<void> outcome;
    auto work = [&] {
      for (std::size_t i = next++; i < jobs.size() && !stop_.stop_requested(); i = next++) {
        auto done =
            UnitJob(compiler_, *jobs[i].context, reporter_).run(std::move(jobs[i].functions));
        if (done || stop_.stop_requested()) continue;
        std::lock_guard guard(mutex);
        outcome = done;
        next = jobs.size();
      }
    };
    std::vector<std::jthread> threads;
    std::size_t count = std::min(jobs.size(), static_cast<std::size_t>(std::max(options_.jobs, 1)));
    for (std::size_t i = 1; i < count; ++i) threads.emplace_back(work);
    work();
    threads.clear();
    return outcome;
  }

  const CompileOptions& options_;
  UnitCompiler& compiler_;
  Reporter& reporter_;
  std::stop_token stop_;
};

}  // namespace

Expected<std::set<std::string>> find_compiled(const std::vector<Variant>& variants,
                                              const CompileOptions& options, Cache& cache) {
  TRY_ASSIGN(auto compiler, UnitCompiler::make(options, cache, {}));
  std::set<std::string> found;
  for (const auto& [build, its_variants] : by_build(variants)) {
    if (build != nullptr && !build->sources.empty()) continue;
    auto context = compiler.prepare(its_variants.front().build);
    if (!context) continue;  // a run will report why
    for (const auto& group : group_functions(its_variants, options.purpose)) {
      for (const auto& function : group.functions) {
        if (!compiler.find(*context, function.symbol, function.variants.front())) continue;
        for (const auto& variant : function.variants) found.insert(variant.key);
      }
    }
  }
  return found;
}

Expected<void> compile(const std::vector<Variant>& variants, const CompileOptions& options,
                       Cache& cache, const std::function<void(UnitResult)>& on_unit,
                       std::stop_token stop) {
  TRY_ASSIGN(auto compiler, UnitCompiler::make(options, cache, stop));
  Reporter reporter(on_unit);
  return Compilation(options, compiler, reporter, stop).run(variants);
}

}  // namespace instr
