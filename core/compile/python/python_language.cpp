#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "core/base/content_hash.h"
#include "core/base/environment.h"
#include "core/base/process.h"
#include "core/compile/cache.h"
#include "core/compile/compiled_variant.h"
#include "core/compile/cpp/compile_cpp.h"
#include "core/compile/cuda_host.h"
#include "core/compile/language_support.h"
#include "core/compile/python/compile_python.h"
#include "core/compile/python/generate_python.h"
#include "core/compile/python/packages.h"
#include "core/compile/python/python.h"
#include "core/definitions/requirement.h"
#include "worker/wire.h"

namespace instr {

namespace {

// Returns imports of a variant that take seconds, which a native worker does before it forks:
// modules, and "compiler" for those of torch.compile(). The module of a package usually has the
// package's name.
std::set<std::string> find_imports(const Variant& variant) {
  std::set<std::string> imports;
  if (is_compiled(variant.backend) || runs_package(variant.backend)) {
    imports.insert(to_string(WarmUp::kCompiler));
  }
  for (const std::string& text : variant.packages) {
    std::string module = parse_package(text).value_or(PackageRequirement{}).name;
    std::replace(module.begin(), module.end(), '-', '_');
    if (!module.empty()) imports.insert(module);
  }
  return imports;
}

constexpr const char* kServe = "serve.py";
constexpr const char* kCodeCache = "pycache";

// Returns the folder's path in a process that has it open as kProgramFolderFd.
std::string folder_name() { return "/proc/self/fd/" + std::to_string(wire::kProgramFolderFd); }

// Returns the command that starts the interpreter for a task of serve.py.
std::vector<std::string> python_command(const std::string& task, const Python& python) {
  // Not a script argument: its resolved path would be on the heap. And not named as a file: to show
  // a line of it, Python would look up that file.
  const std::string folder = folder_name();
  const std::string start = fmt::format(
      "import sys; sys.path.pop(0); exec(compile(open('{0}/{1}').read(), '<{1}>', 'exec'))", folder,
      kServe);
  std::vector<std::string> command{folder + "/python", "-S", "-s", "-u", "-c", start, task, folder};
  if (python.torch.empty()) command.emplace_back("without_torch");
  return command;
}

// Returns the variable that names the folder for the code of modules that a counting worker
// imports.
std::string python_code_cache() {
  return "PYTHONPYCACHEPREFIX=" + folder_name() + "/" + kCodeCache;
}

// Returns the variables that workers of other languages do not have.
std::vector<std::string> python_environment() {
  const std::string folder = folder_name();
  return {"PYTHONHOME=" + folder + "/home:" + folder + "/platform_home", "PYTHONHASHSEED=0",
          // Beside the worker, by a name of fixed length.
          "TORCHINDUCTOR_CACHE_DIR=" + folder + "/" + kUnsealedName,
          // Other installed backends would be imported, too, but none of them is counted.
          "TORCH_DEVICE_BACKEND_AUTOLOAD=0"};
}

// Adds the variable without which torch refuses to run TorchScript, unless the user has set it.
void allow_torchscript(WorkerProgram& program, const Python& python) {
  const std::string& variable = python.torchscript_variable;
  const std::string start = variable.substr(0, variable.find('=') + 1);
  const auto is_same = [&start](const std::string& each) { return each.starts_with(start); };
  if (variable.empty() || std::ranges::any_of(program.environment, is_same)) return;
  program.environment.push_back(variable);
}

bool runs_torchscript(const Variant& variant) {
  const Body body = facts_of(variant.backend).body;
  return body == Body::kScript || body == Body::kTraced;
}

// Puts the entries of the module path in a folder: always as many, of which the others are empty,
// since each has a finder, an object on the heap. The folder of torch has the same number wherever
// other entries are, since the paths of its modules are on the heap, too.
void make_module_path(const Python& python, const fs::path& folder, std::error_code& problem) {
  constexpr std::size_t kEntries = 32;
  constexpr std::size_t kNumberOfTorch = 16;
  std::error_code ignored;
  const fs::path home = fs::canonical(python.torch.parent_path(), ignored);
  const auto torch = std::find(python.path.begin(), python.path.end(), home);
  const auto before = static_cast<std::size_t>(torch - python.path.begin());
  const std::size_t begin = before < kNumberOfTorch ? kNumberOfTorch - before : 0;
  const std::size_t end = begin + python.path.size();
  fs::create_directory(folder, problem);
  for (std::size_t i = 0; i < std::max(kEntries, end) && !problem; ++i) {
    const fs::path entry = folder / fmt::format("{:02}", i);
    if (i < begin || i >= end) {
      fs::create_directory(entry, problem);
    } else {
      fs::create_symlink(python.path[i - begin], entry, problem);
    }
  }
}

Expected<void> make_links(const Python& python, const fs::path& folder) {
  std::error_code problem;
  const auto link = [&](const fs::path& to, const fs::path& name) {
    if (!problem) fs::create_symlink(to, folder / name, problem);
  };
  link(python.program, "python");
  link(python.home, "home");
  link(python.platform_home, "platform_home");
  if (!problem) make_module_path(python, folder / "path", problem);
  if (!problem) return {};
  return fail("cannot make links in " + folder.string() + ": " + problem.message());
}

// Imports the modules that a zygote imports, so that `folder` has code of them. The code files
// beside the modules contain the path of their installation.
Expected<void> import_once(const Python& python, const fs::path& folder,
                           const std::optional<std::string>& stand_in, std::stop_token stop) {
  Fd descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!descriptor) return fail("cannot open " + folder.string());
  SpawnOptions spawn;
  spawn.argv = python_command("prime", python);
  spawn.environment = python_environment();
  spawn.environment->push_back(python_code_cache());
  if (stand_in) use_cuda_host(*spawn.environment, folder, folder_name(), *stand_in);
  spawn.working_directory = "/";
  spawn.descriptors = {{descriptor.get(), wire::kProgramFolderFd}};
  TRY_ASSIGN(auto result, run_command(spawn, stop));
  if (result.exit_code == 0) return {};
  return fail("torch cannot be imported:\n" + result.errors,
              "try it: python -c 'import torch'; --language=cpp leaves Python out");
}

// Reads the modules that only this kind of worker loads, by name.
std::map<std::string, std::string> read_modules(WorkerKind kind, const fs::path& sources) {
  const char* const part = kind == WorkerKind::kNativePython ? "native" : "counted";
  std::map<std::string, std::string> modules;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(python_script(sources, part), ignored)) {
    if (entry.path().extension() != ".py") continue;
    modules[entry.path().filename().string()] = read_text(entry.path()).value_or("");
  }
  return modules;
}

Expected<void> write_texts(const std::map<std::string, std::string>& texts,
                           const fs::path& folder) {
  for (const auto& [name, text] : texts) TRY(write_text(folder / name, text));
  return {};
}

// `stand_in`: the made-up CUDA device whose host side is counted, if it is.
WorkerProgram program_for(WorkerKind kind, const Python& python, const fs::path& worker,
                          const std::set<std::string>& imports,
                          const std::optional<std::string>& stand_in) {
  const bool is_native = kind == WorkerKind::kNativePython;
  WorkerProgram program{worker, python_command("serve", python),
                        is_native ? own_environment() : pinned_environment(cpu_class())};
  const auto set = [&program](std::string text) { program.environment.push_back(std::move(text)); };
  for (std::string& text : python_environment()) set(std::move(text));
  set("PYTHONDONTWRITEBYTECODE=1");
  if (is_native) {
    program.command.insert(program.command.end(), imports.begin(), imports.end());
    set(kNativePackages);
    // Importing the compiler calls torch.cuda.is_available(): it must not start CUDA, which no
    // forked process could use then.
    set("PYTORCH_NVML_BASED_CUDA_CHECK=1");
    return program;
  }
  set(python_code_cache());
  // The worker's allocator serves the whole process; the interpreter's allocators are off.
  set("LD_PRELOAD=" + folder_name() + "/" + worker.filename().string());
  if (stand_in) {
    use_cuda_host(program.environment, worker.parent_path(), folder_name(), *stand_in);
  }
  set("PYTHONMALLOC=malloc");
  set(pinned_march(cpu_class()));
  set("TORCHINDUCTOR_COMPILE_THREADS=1");
  // Otherwise g++ runs even for code in the cache, to see if a header has changed.
  set("TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS=0");
  set(kAssumeVectorInstructions);
  return program;
}

// Makes the folder in which the interpreter finds this kind of worker, a shared object, and itself,
// by names of a fixed length (worker/python/serve.py): on first use for this interpreter, and
// cached. The folder of a counting worker also contains the code of the modules that it imports.
// `imports`: modules that a native worker imports before it forks, as far as they are installed.
Expected<WorkerProgram> build_python_worker(WorkerKind kind, const Python& python,
                                            const std::set<std::string>& imports,
                                            const CompileOptions& options, Cache& cache,
                                            std::stop_token stop) {
  const auto prebuilt = find_prebuilt_worker(options.sources);
  const bool is_prebuilt = kind == WorkerKind::kPython && prebuilt;
  TRY_ASSIGN(const auto shared,
             is_prebuilt ? *prebuilt : build_worker(kind, options.sources, options, cache, stop));
  auto texts = read_modules(kind, options.sources);
  texts[kServe] = read_text(python_script(options.sources, kServe)).value_or("");
  std::string identity = file_hash(shared).value_or("") + "\n" + identify(python);
  for (const auto& [name, text] : texts) identity += "\n" + text;
  const auto& stand_in = options.libtorch.stand_in;
  if (stand_in) identity += "\n" + identify_cuda_host(options.sources);
  const std::string name = "python-" + content_hash(identity);
  const auto make = [&](const fs::path& to) -> Expected<void> {
    const fs::path folder = to.parent_path();
    std::error_code problem;
    fs::copy_file(shared, to, problem);
    if (problem) return fail("cannot write " + to.string() + ": " + problem.message());
    TRY(write_texts(texts, folder));
    TRY(make_links(python, folder));
    // Only counts depend on where a module was compiled.
    if (kind != WorkerKind::kPython) return {};
    if (stand_in) {
      TRY(check_compiler(options.toolchain));
      TRY(add_cuda_host(folder, options.libtorch.library_dir, options.sources,
                        options.toolchain.compiler, stop));
    }
    return import_once(python, folder, stand_in, stop);
  };
  TRY_ASSIGN(const auto worker, cache.get(name + "/worker.so", make));
  WorkerProgram program = program_for(kind, python, worker, imports, stand_in);
  allow_torchscript(program, python);
  return program;
}

UnitResult fail_all(const std::vector<Variant>& variants, const Error& error) {
  UnitResult result;
  for (const Variant& variant : variants) {
    result.failed.push_back(make_compile_failure(variant, to_string(error)));
  }
  return result;
}

class PythonLanguage : public LanguageSupport {
 public:
  PythonLanguage(const std::optional<std::string>& command, const CompileOptions& options,
                 Cache& cache)
      : command_(command), options_(options), cache_(cache) {}

  std::optional<std::string> expect(const std::vector<Variant>& variants) override {
    for (const Variant& variant : variants) {
      imports_.merge(find_imports(variant));
      if (variant.tests) tests_ = variant.tests;
    }
    if (python_ || variants.empty()) return std::nullopt;
    python_ = find_python(command_, options_.libtorch, options_.sources);
    packages_.use(*python_);
    return *python_ ? find_caution(**python_) : std::nullopt;
  }

  std::optional<std::string> find_obstacle(const Variant& variant) const override {
    if (!*python_) return to_string(python_->error());
    const Python& python = **python_;
    if (runs_torchscript(variant) && !python.has_torchscript) {
      return fmt::format("torch {} has no TorchScript in Python: --backend=aoti compiles instead",
                         python.torch_version);
    }
    if (auto lacking = find_lacking_package(python, packages_of(variant.backend))) {
      return fmt::format("the backend {} {}", to_string(variant.backend), *lacking);
    }
    if (auto lacking = find_lacking_package(python, variant.packages)) return lacking;
    return packages_.find_obstacle(variant);
  }

  // Compiles all as one unit: the interpreter compiles them faster than it starts.
  Expected<void> compile(const std::vector<Variant>& variants, Purpose purpose,
                         const OnUnit& on_unit, std::stop_token stop) override {
    const auto compile = [&](const std::vector<Variant>& ready) -> Expected<void> {
      auto unit = compile_python(ready, **python_, options_.sources, cache_, purpose, stop);
      if (stop.stop_requested()) return {};
      if (!unit && purpose == Purpose::kVerify) return fail(unit.error());
      on_unit(unit ? *std::move(unit) : fail_all(ready, unit.error()));
      return {};
    };
    return packages_.compile(variants, compile, on_unit, stop);
  }

  Expected<std::map<std::string, std::string>> identify(const std::vector<Variant>& variants,
                                                        std::stop_token) override {
    std::map<std::string, std::string> hashes;
    for (const Variant& variant : packages_.identify(variants)) {
      hashes[variant.key] =
          content_hash(list_symbols(variant, [](const Variant& each, Purpose purpose) {
            return make_python_symbol(make_python_snippet(each, purpose));
          }));
    }
    return hashes;
  }

  Expected<WorkerProgram> counting_worker(std::stop_token stop) override {
    TRY_ASSIGN(auto program, build(WorkerKind::kPython, stop));
    if (tests_) {
      program.command.emplace_back("tests");
      program.open_files = {{tests_->root, wire::kTestsFolderFd},
                            {tests_->file, wire::kTestsFileFd}};
    }
    return program;
  }

  Expected<WorkerProgram> native_worker(std::stop_token stop) override {
    return build(WorkerKind::kNativePython, stop);
  }

  std::map<std::string, std::string> describe() const override {
    if (!python_ || !*python_) return {};
    std::map<std::string, std::string> facts{{"python", (*python_)->build}};
    if (const auto prebuilt = find_prebuilt_worker(options_.sources)) {
      facts.emplace("python_worker", "prebuilt " + file_hash(*prebuilt).value_or(""));
    }
    return facts;
  }

 private:
  Expected<WorkerProgram> build(WorkerKind kind, std::stop_token stop) {
    TRY(*python_);
    return build_python_worker(kind, **python_, imports_, options_, cache_, stop);
  }

  const std::optional<std::string> command_;
  const CompileOptions& options_;
  Cache& cache_;
  std::optional<Expected<Python>> python_;  // set once there is a variant in Python
  Packages packages_{options_, cache_};
  std::set<std::string> imports_;
  std::shared_ptr<const TestSuite> tests_;  // null: no tests are counted
};

}  // namespace

std::unique_ptr<LanguageSupport> make_python_language(const std::optional<std::string>& command,
                                                      const CompileOptions& options, Cache& cache) {
  return std::make_unique<PythonLanguage>(command, options, cache);
}

std::optional<fs::path> find_prebuilt_worker(const fs::path& sources) {
  const fs::path worker = python_script(sources, "prebuilt/worker.so");
  std::error_code ignored;
  return fs::exists(worker, ignored) ? std::optional(worker) : std::nullopt;
}

std::vector<fs::path> list_python_modules(const fs::path& worker) {
  const fs::path folder = worker.parent_path();
  const fs::path code = folder / kCodeCache / folder_name().substr(1);
  std::vector<fs::path> modules;
  std::error_code ignored;
  for (const auto& entry : fs::recursive_directory_iterator(code, ignored)) {
    if (entry.path().extension() != ".pyc") continue;
    // "torch/jit/_script.cpython-311.pyc"
    const fs::path module = entry.path().lexically_relative(code);
    modules.push_back(folder / module.parent_path() / (module.stem().stem().string() + ".py"));
  }
  return modules;
}

}  // namespace instr
