#include <algorithm>
#include <vector>

#include "core/base/content_hash.h"
#include "core/base/environment.h"
#include "core/base/process.h"
#include "core/compile/cache.h"
#include "core/compile/compiled_variant.h"
#include "core/compile/cpp/compile_cpp.h"
#include "core/compile/cpp/tracked_artefacts.h"
#include "core/compile/cuda_host.h"
#include "core/compile/language_support.h"
#include "core/compile/python/packages.h"

namespace instr {

namespace {

class CppLanguage : public LanguageSupport {
 public:
  CppLanguage(const CompileOptions& options, Cache& cache) : options_(options), cache_(cache) {}

  std::optional<std::string> expect(const std::vector<Variant>& variants) override {
    packages_.expect(variants);
    return std::nullopt;
  }

  std::optional<std::string> find_obstacle(const Variant& variant) const override {
    return packages_.find_obstacle(variant);
  }

  Expected<void> compile(const std::vector<Variant>& variants, Purpose purpose,
                         const OnUnit& on_unit, std::stop_token stop) override {
    if (variants.empty()) return {};
    TRY(check_compiler(options_.toolchain));
    CompileOptions options = options_;
    options.purpose = purpose;
    options.each_alone = options.each_alone && purpose == Purpose::kMeasure;
    const auto compile = [&](const std::vector<Variant>& ready) {
      return instr::compile(ready, options, cache_, on_unit, stop);
    };
    return packages_.compile(variants, compile, on_unit, stop);
  }

  Expected<std::set<std::string>> find_compiled(const std::vector<Variant>& variants) override {
    return instr::find_compiled(packages_.find(variants), options_, cache_);
  }

  Expected<std::map<std::string, std::string>> identify(const std::vector<Variant>& variants,
                                                        std::stop_token stop) override {
    if (variants.empty() || !check_compiler(options_.toolchain)) {
      return std::map<std::string, std::string>{};
    }
    return instr::identify(packages_.identify(variants), options_, cache_, stop);
  }

  std::map<std::string, std::string> list_includes(const CompiledVariant& compiled) const override {
    const auto& build = compiled.variant.build;
    auto files = TrackedArtefacts(cache_, {})
                     .list_files(compiled.unit.filename().string(),
                                 build ? build->root : std::filesystem::path());
    files.merge(packages_.list_files(compiled.variant));
    return files;
  }

  Expected<WorkerProgram> counting_worker(std::stop_token stop) override {
    CompileOptions options = options_;
    options.jobs = std::max(options.jobs - 1, 1);  // one remains for the precompiled header
    TRY_ASSIGN(auto worker,
               build(WorkerKind::kCounting, options, pinned_environment(cpu_class()), stop));
    if (const auto& device = options_.libtorch.stand_in) {
      use_cuda_host(worker.environment, worker.working_directory, ".", *device);
    }
    return worker;
  }

  Expected<WorkerProgram> native_worker(std::stop_token stop) override {
    std::vector<std::string> environment = own_environment();
    environment.emplace_back(kNativePackages);
    return build(WorkerKind::kNative, options_, std::move(environment), stop);
  }

 private:
  Expected<WorkerProgram> build(WorkerKind kind, const CompileOptions& options,
                                std::vector<std::string> environment, std::stop_token stop) {
    TRY_ASSIGN(auto worker, build_worker(kind, options.sources, options, cache_, stop));
    return WorkerProgram{
        worker, {"./" + worker.filename().string()}, std::move(environment), worker.parent_path()};
  }

  const CompileOptions& options_;
  Cache& cache_;
  Packages packages_{options_, cache_};
};

// Sources in one folder below worker/ that belong to a worker.
struct Part {
  const char* folder;
  enum { kOnly, kAllBut } choice;
  std::vector<std::string_view> names;

  bool has(const std::string& name) const {
    const bool is_named = std::find(names.begin(), names.end(), name) != names.end();
    return is_named == (choice == kOnly);
  }
};

struct KindFacts {
  const char* artefact;  // the start of its name in the cache
  bool is_in_interpreter = false;
  bool includes_libtorch = true;
  bool is_native = false;
  std::vector<Part> parts;

  const char* program() const { return is_in_interpreter ? "worker.so" : "worker"; }
};

KindFacts facts_of(WorkerKind kind) {
  const Part shared{"", Part::kAllBut, {}};
  const Part headers_of_stand_ins{kCudaHostFolder, Part::kOnly, {}};
  const Part shared_with_python{"", Part::kAllBut, {"torch_side.cpp", "unit.cpp"}};
  switch (kind) {
    case WorkerKind::kCounting: break;
    case WorkerKind::kNative:
      return {.artefact = "native-",
              .is_native = true,
              .parts = {shared, {"native", Part::kAllBut, {}}}};
    case WorkerKind::kPython:
      return {.artefact = "python-worker-",
              .is_in_interpreter = true,
              .includes_libtorch = false,
              .parts = {shared_with_python,
                        {"counted", Part::kAllBut, {"main.cpp"}},
                        headers_of_stand_ins,
                        {"python", Part::kAllBut, {}},
                        {"python/counted", Part::kAllBut, {}}}};
    case WorkerKind::kNativePython:
      return {.artefact = "native-python-worker-",
              .is_in_interpreter = true,
              .is_native = true,
              .parts = {shared_with_python,
                        {"native", Part::kAllBut, {"main.cpp", "native_code.cpp"}},
                        {"python", Part::kAllBut, {}},
                        {"python/native", Part::kAllBut, {}}}};
  }
  return {.artefact = "worker-",
          .parts = {shared, {"counted", Part::kAllBut, {}}, headers_of_stand_ins}};
}

// Returns whether CUDA's stand-ins are built with this worker: not with one in an interpreter,
// whose folder is another.
bool has_stand_ins(const KindFacts& facts, const CompileOptions& options) {
  return options.libtorch.stand_in && facts.includes_libtorch && !facts.is_native;
}

struct WorkerSources {
  std::vector<fs::path> compiled;  // *.cpp and *.S
  std::string identity;            // names and contents of all files
};

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    std::string extension = entry.path().extension().string();
    if (extension == ".cpp" || extension == ".S" || extension == ".h")
      files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

Expected<WorkerSources> read_sources(const fs::path& folder, WorkerKind kind) {
  WorkerSources sources;
  auto add = [&sources](const fs::path& file, bool is_compiled) {
    sources.identity += file.filename().string() + " " + file_hash(file).value_or("?") + "\n";
    if (is_compiled && file.extension() != ".h") sources.compiled.push_back(file);
  };
  for (const Part& part : facts_of(kind).parts) {
    for (const auto& file : files_in(folder / part.folder)) {
      const bool is_used = part.has(file.filename().string());
      if (is_used || file.extension() == ".h") add(file, is_used);
    }
  }
  if (sources.compiled.empty()) {
    return fail("the worker's sources are not in '" + folder.string() + "'",
                "the installation is not complete: install instr_bench again");
  }
  return sources;
}

// Returns true if the code of this source is counted, so that it must not depend on other sources
// compiled with it.
bool is_counted(const fs::path& source) {
  const std::string name = source.filename().string();
  return name == "arena.cpp" || name == "collected.cpp" || name == "run_snippet.cpp" ||
         name == "simulated_state.cpp" || name == "threads.cpp";
}

// The worker is C++20, except for the source that includes LibTorch's headers: with some compilers
// they need C++17.
bool includes_libtorch(const fs::path& source) {
  std::string text = read_text(source).value_or("");
  for (const char* folder : {"#include <torch/", "#include <ATen/", "#include <c10/"}) {
    if (text.find(folder) != std::string::npos) return true;
  }
  return false;
}

// Returns true if the linker did not find the libraries of CUDA that LibTorch is linked with.
bool lacks_cuda(const std::string& errors) {
  return errors.find("libtorch_cuda.so: undefined reference") != std::string::npos;
}

const char* advise_on(const std::string& errors) {
  bool lacks_benchmark = errors.find("benchmark/benchmark.h") != std::string::npos ||
                         errors.find("lbenchmark") != std::string::npos;
  if (lacks_benchmark) return "install Google Benchmark: apt-get install libbenchmark-dev";
  return "try another compiler with --compiler, or another LibTorch with --libtorch";
}

class WorkerBuild {
 public:
  WorkerBuild(WorkerKind kind, const fs::path& root, const CompileOptions& options,
              fs::path scratch, std::stop_token stop)
      : facts_(facts_of(kind)),
        root_(root),
        options_(options),
        scratch_(std::move(scratch)),
        stop_(std::move(stop)) {}

  Expected<void> run(std::vector<fs::path> sources, const fs::path& program) {
    const fs::path joined = program.parent_path() / "joined.cpp";
    TRY(join(sources, joined));
    std::vector<fs::path> objects;
    for (const auto& source : sources) {
      objects.push_back(program.parent_path() / (source.filename().string() + ".o"));
    }
    TRY(run_parallel(sources.size(), options_.jobs,
                     [&](std::size_t i) { return compile(sources[i], objects[i]); }));
    auto linked = link(objects, program);
    std::error_code ignored;
    fs::create_directory_symlink(options_.libtorch.library_dir,
                                 program.parent_path() / kLibraryLink, ignored);
    if (linked && has_stand_ins(facts_, options_)) {
      TRY(add_cuda_host(program.parent_path(), options_.libtorch.library_dir, root_,
                        options_.toolchain.compiler, stop_));
    }
    for (const auto& object : objects) fs::remove(object, ignored);
    fs::remove(joined, ignored);
    return linked;
  }

 private:
  // Replaces sources that may be compiled together by a file that includes them, as most of the
  // time is spent on the same standard headers. Sources that take longest come first.
  Expected<void> join(std::vector<fs::path>& sources, const fs::path& joined) const {
    const auto is_apart = [this](const fs::path& it) {
      const fs::path folder = it.parent_path();
      const bool is_shared = folder == root_ / "worker" || folder == root_ / "worker/counted";
      return !is_shared || it.extension() != ".cpp" || is_counted(it) || includes_libtorch(it);
    };
    const auto others = std::stable_partition(sources.begin(), sources.end(), is_apart);
    std::string text;
    for (auto it = others; it != sources.end(); ++it) {
      text += "#include \"" + it->lexically_relative(root_).string() + "\"\n";
    }
    sources.erase(others, sources.end());
    sources.insert(sources.begin(), joined);
    std::stable_partition(sources.begin(), sources.end(), includes_libtorch);
    return write_text(joined, text);
  }

  Expected<void> compile(const fs::path& source, const fs::path& object) {
    std::vector<std::string> arguments{"-O2"};
    if (facts_.includes_libtorch) arguments = options_.toolchain.flags;
    if (facts_.is_in_interpreter) arguments.emplace_back("-fPIC");
    // LibTorch must find the worker's malloc, and units the worker's symbols.
    std::erase(arguments, "-fvisibility=hidden");
    if (!includes_libtorch(source)) arguments.push_back("-std=c++20");
    if (!options_.valgrind_headers.empty()) {
      arguments.insert(arguments.end(), {"-idirafter", options_.valgrind_headers.string()});
    }
    arguments.insert(arguments.end(), {"-w", "-I" + root_.string(), "-pthread", "-c",
                                       source.string(), "-o", object.string()});
    return run(std::move(arguments), source.filename().string());
  }

  Expected<void> link(const std::vector<fs::path>& objects, const fs::path& program) {
    std::vector<std::string> arguments{facts_.is_in_interpreter ? "-shared" : "-rdynamic",
                                       "-pthread", "-o", program.string()};
    for (const auto& object : objects) arguments.push_back(object.string());
    if (facts_.includes_libtorch) {
      arguments.push_back("-Wl,--no-as-needed");
      for (const auto& flag : options_.toolchain.link_flags) arguments.push_back(flag);
    }
    // Libraries that LibTorch needs may be found only when it is started.
    if (has_stand_ins(facts_, options_)) arguments.push_back("-Wl,--allow-shlib-undefined");
    if (facts_.is_native) arguments.push_back("-lbenchmark");
    arguments.push_back("-ldl");
    return run(std::move(arguments), "the worker");
  }

  Expected<void> run(std::vector<std::string> arguments, const std::string& what) {
    SpawnOptions spawn;
    spawn.argv = {options_.toolchain.compiler.string()};
    spawn.argv.insert(spawn.argv.end(), arguments.begin(), arguments.end());
    spawn.environment = compiler_environment(scratch_);
    TRY_ASSIGN(auto result, run_command(spawn, stop_));
    if (result.exit_code == 0) return {};
    if (lacks_cuda(result.errors)) {
      return fail(
          "LibTorch " + options_.libtorch.version + " lacks CUDA's libraries",
          "count with stand-ins for them by --host-only, or install it with its dependencies");
    }
    return fail("cannot build the worker for LibTorch " + options_.libtorch.version + " with " +
                    options_.toolchain.version + ": " + what + ":\n" +
                    describe_compiler_errors(result).substr(0, 4000),
                advise_on(result.errors));
  }

  KindFacts facts_;
  fs::path root_;
  const CompileOptions& options_;
  fs::path scratch_;
  std::stop_token stop_;
};

}  // namespace

std::unique_ptr<LanguageSupport> make_cpp_language(const CompileOptions& options, Cache& cache) {
  return std::make_unique<CppLanguage>(options, cache);
}

Expected<fs::path> build_worker(WorkerKind kind, const fs::path& sources,
                                const CompileOptions& options, Cache& cache, std::stop_token stop) {
  TRY(check_compiler(options.toolchain));
  TRY_ASSIGN(auto files, read_sources(sources / "worker", kind));
  const KindFacts facts = facts_of(kind);
  if (has_stand_ins(facts, options)) files.identity += identify_cuda_host(sources);
  std::string name = facts.artefact + content_hash(files.identity + identify_toolchain(options));
  return cache.get(name + "/" + facts.program(), [&](const fs::path& to) {
    const Phase phase = begin_phase(
        options.on_phase, "compiling the worker for LibTorch " + options.libtorch.version);
    return WorkerBuild(kind, sources, options, cache.scratch(), stop).run(files.compiled, to);
  });
}

}  // namespace instr
