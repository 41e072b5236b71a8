#include "core/compile/cpp/compile_unit.h"

#include <algorithm>
#include <sstream>
#include <system_error>

#include "core/base/content_hash.h"
#include "core/base/paths.h"
#include "core/base/process.h"
#include "core/compile/cache.h"
#include "core/compile/compiled_variant.h"
#include "core/compile/cpp/compile_cpp.h"
#include "core/compile/cpp/generate_cpp.h"
#include "core/compile/cpp/self_contained.h"
#include "core/compile/elf.h"
#include "core/compile/installation.h"

namespace instr {

namespace {

// g++ takes about as long to write its precompiled header as to read the plain one twice.
constexpr std::size_t kUnitsWorthHeader = 4;

// Reads a header of worker/ as one text: those that it includes from there are in it, once each.
Expected<std::string> read_header(const fs::path& sources, const std::string& name,
                                  std::set<std::string>& included) {
  constexpr std::string_view kInclude = "#include \"worker/";
  const auto text = read_text(sources / "worker" / name);
  if (!text) {
    return fail("cannot read worker/" + name + " in '" + sources.string() + "'",
                "the installation is not complete: install instr_bench again");
  }
  std::string whole;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(kInclude)) {
      whole += line + '\n';
      continue;
    }
    const std::string other = line.substr(kInclude.size(), line.rfind('"') - kInclude.size());
    if (!included.insert(other).second) continue;
    TRY_ASSIGN(const auto part, read_header(sources, other, included));
    whole += part;
  }
  return whole;
}

// Returns the flags that a precompiled header depends on. A compiler refuses a header made with
// other flags or defines, but the user's folders may differ: they contain no header of LibTorch.
std::vector<std::string> header_flags(const BuildContext& context) {
  std::vector<std::string> flags;
  for (const auto& flag : context.flags) {
    if (flag.rfind("-I", 0) != 0 && flag != context.root_flag) flags.push_back(flag);
  }
  return flags;
}

// Returns true if a system header has changed since the precompiled header was made.
bool refuses_header(const std::string& errors) {
  for (const char* words : {"precompiled header", "PCH file", "AST file", "module file"}) {
    if (errors.find(words) != std::string::npos) return true;
  }
  return false;
}

bool has_own_flags(const BuildContext& context) {
  return context.build && (!context.build->flags.empty() || !context.build->defines.empty());
}

// Lists the folders of the system, and those that identify_toolchain() covers.
std::vector<fs::path> list_known_folders(const CompileOptions& options, const Cache& cache) {
  std::vector<fs::path> folders{"/usr/include", "/usr/lib", cache.folder()};
  for (const fs::path& folder : options.libtorch.include_dirs) {
    folders.push_back(folder.lexically_normal());
  }
  if (options.libtorch.cuda_headers) folders.push_back(*options.libtorch.cuda_headers);
  return folders;
}

// Identifies what a unit needs of a library to be linked with it: other code behind the same names
// needs no new link.
std::string identify_exports(const fs::path& library) {
  const auto names = read_exports(library);
  return names ? one_per_line(*names) : library.string();
}

// Puts a unit's code and a link to the user's library, by the name that the code has for it, into
// one folder.
Expected<void> put_together(const fs::path& linked, const fs::path& library,
                            const std::string& name, const fs::path& unit) {
  std::error_code error;
  fs::copy_file(linked, unit, error);
  if (!error) fs::create_symlink(library, unit.parent_path() / name, error);
  if (!error) return {};
  return fail("cannot write '" + unit.string() + "': " + error.message());
}

}  // namespace

UnitCompiler::UnitCompiler(const CompileOptions& options, Cache& cache, std::stop_token stop)
    : options_(options),
      cache_(cache),
      tracked_(cache, list_known_folders(options, cache)),
      stop_(std::move(stop)) {}

Expected<UnitCompiler> UnitCompiler::make(const CompileOptions& options, Cache& cache,
                                          std::stop_token stop) {
  UnitCompiler compiler(options, cache, std::move(stop));
  const fs::path sources = options.sources.empty() ? find_installation().sources : options.sources;
  std::set<std::string> included;
  TRY_ASSIGN(compiler.header_text_, read_header(sources, "snippet_support.h", included));
  compiler.identity_ = identify_toolchain(options) + "\n" + compiler.header_text_;
  return compiler;
}

Expected<void> UnitCompiler::run_compiler(const std::vector<std::string>& arguments,
                                          std::optional<std::string>& errors) {
  SpawnOptions spawn;
  spawn.argv = {options_.toolchain.compiler.string()};
  append(spawn.argv, arguments);
  spawn.environment = compiler_environment(cache_.scratch());
  TRY_ASSIGN(auto result, run_command(spawn, stop_));
  if (stop_.stop_requested()) return fail("stopped");
  if (result.exit_code != 0) errors = describe_compiler_errors(result);
  return {};
}

// Flags that do not change code: the form of messages and of debug information. Valgrind
// before 3.20 cannot always read DWARF 5 as these compilers write it.
std::vector<std::string> UnitCompiler::common_flags() const {
  std::vector<std::string> flags{"-w", "-fdiagnostics-color=never"};
  if (options_.toolchain.is_clang) {
    append(flags, {"-fno-caret-diagnostics", "-ferror-limit=0", "-fdebug-default-version=4"});
  } else {
    append(flags, {"-fno-diagnostics-show-caret", "-fmax-errors=0",
                   "-fdiagnostics-column-unit=byte", "-gdwarf-4"});
  }
  flags.emplace_back(options_.line_numbers ? "-g1" : "-g0");
  return flags;
}

// With line numbers, the code also depends on the places of the texts.
std::string UnitCompiler::identify(const std::string& symbol, const Variant& variant) const {
  std::string identity = symbol;
  if (!options_.line_numbers) return identity;
  for (const Text* text : list_texts(variant)) identity += "\n" + to_string(text->where);
  if (!variant.global_setups.empty()) {
    identity += "\n" + to_string(variant.global_setups.front().where);
  }
  return identity;
}

std::string UnitCompiler::hint_name(const BuildContext& context, const std::string& symbol,
                                    const Variant& variant) const {
  return "variant-" + content_hash(context.hash + identify(symbol, variant));
}

std::optional<fs::path> UnitCompiler::find(const BuildContext& context, const std::string& symbol,
                                           const Variant& variant) const {
  return tracked_.find(hint_name(context, symbol, variant), context.root);
}

std::string UnitCompiler::header_name(const BuildContext& context) const {
  std::string identity = identity_;
  for (const auto& flag : header_flags(context)) identity += "\n" + flag;
  // clang's precompiled header refers to the plain one by its path.
  if (options_.toolchain.is_clang) identity += "\n" + cache_.folder().string();
  return "pch-" + content_hash(identity) + "/support.h";
}

Expected<fs::path> UnitCompiler::plain_header() {
  return cache_.get("support-" + content_hash(header_text_) + ".h",
                    [&](const fs::path& to) { return write_text(to, header_text_); });
}

Expected<void> UnitCompiler::prepare_header(BuildContext& context, std::size_t units) {
  std::string name = header_name(context);
  if (cache_.find(name)) return {};
  bool is_clang = options_.toolchain.is_clang;
  std::string wish = "wish-" + content_hash(name);
  bool is_expensive = !is_clang || has_own_flags(context);
  // The code of a snippet alone in its unit must not depend on the presence of a precompiled
  // header.
  bool is_optional = is_expensive && !options_.each_alone;
  if (is_optional && units < kUnitsWorthHeader && !cache_.read_hint(wish)) {
    // The header is made at the second request, which suggests a third.
    cache_.write_hint(wish, "wish\n");
    return {};
  }
  TRY_ASSIGN(auto plain, plain_header());
  std::optional<std::string> errors;
  const Phase phase = begin_phase(options_.on_phase, "precompiling LibTorch's headers");
  auto made = cache_.get(name, [&](const fs::path& to) -> Expected<void> {
    TRY(write_text(to, header_text_));
    std::vector<std::string> arguments = header_flags(context);
    if (is_clang) {
      arguments.insert(arguments.end(),
                       {"-fpch-instantiate-templates", "-fpch-validate-input-files-content", "-x",
                        "c++-header", plain.string(), "-o", to.string() + ".pch"});
    } else {
      arguments.insert(arguments.end(),
                       {"-x", "c++-header", to.string(), "-o", to.string() + ".gch"});
    }
    TRY(run_compiler(arguments, errors));
    if (errors) return fail("LibTorch's headers do not compile");
    return {};
  });
  if (errors) {
    context.failure = errors;
    return {};
  }
  TRY(made);
  return {};
}

std::vector<std::string> UnitCompiler::header_arguments(const BuildContext& context) {
  auto made = cache_.find(header_name(context));
  if (made && options_.toolchain.is_clang) {
    return {"-fpch-validate-input-files-content", "-include-pch", made->string() + ".pch"};
  }
  if (made) return {"-include", made->string()};
  auto plain = plain_header();
  return {"-include", plain ? plain->string() : "snippet_support.h"};
}

Expected<void> UnitCompiler::compile_to(const fs::path& object, const fs::path& list,
                                        const BuildContext& context,
                                        std::span<const Variant> variants,
                                        std::optional<std::string>& errors) {
  fs::path source = object.parent_path() / "unit.cpp";
  TRY(write_text(source, generate_unit(variants, options_.purpose)));
  std::vector<std::string> arguments = context.flags;
  append(arguments, header_arguments(context));
  append(arguments, dependency_flags(list));
  arguments.insert(arguments.end(), {"-c", "-o", object.string(), source.string()});
  return run_compiler(arguments, errors);
}

// The compiler will report texts that cannot be preprocessed.
Expected<std::set<std::string>> UnitCompiler::find_reaching(const fs::path& folder,
                                                            const BuildContext& context,
                                                            std::span<const Variant> variants) {
  if (variants.size() < 2) return std::set<std::string>{};
  fs::path source = folder / "texts.cpp";
  fs::path output = folder / "texts.ii";
  TRY(write_text(source, make_preprocessor_input(variants, options_.purpose)));
  std::vector<std::string> arguments = context.flags;
  append(arguments, header_arguments(context));
  arguments.insert(arguments.end(), {"-E", "-P", "-o", output.string(), source.string()});
  if (!options_.toolchain.is_clang) arguments.push_back("-fpch-preprocess");
  std::optional<std::string> errors;
  TRY(run_compiler(arguments, errors));
  return find_reaching_symbols(read_text(output).value_or(""));
}

Expected<UnitCompiler::Unit> UnitCompiler::compile(const BuildContext& context,
                                                   std::span<const Variant> variants) {
  ArtefactInputs inputs{context.hash,
                        {},
                        [](const std::string& hash) { return "unit-" + hash + ".o"; },
                        context.root};
  std::vector<std::string> sorted;
  for (const auto& variant : variants) {
    const std::string symbol = make_snippet_symbol(variant, options_.purpose);
    sorted.push_back(identify(symbol, variant));
    inputs.hints.push_back(hint_name(context, symbol, variant));
  }
  std::sort(sorted.begin(), sorted.end());
  for (const auto& snippet : sorted) inputs.identity += "\n" + snippet;

  std::optional<std::string> errors;
  std::set<std::string> apart;
  const auto make = [&](const fs::path& to, const fs::path& list) -> Expected<void> {
    TRY_ASSIGN(apart, find_reaching(to.parent_path(), context, variants));
    if (!apart.empty()) return fail("texts that cannot share a unit");
    auto ran = compile_to(to, list, context, variants, errors);
    if (ran && errors && refuses_header(*errors)) {
      cache_.discard(header_name(context));
      errors.reset();
      ran = compile_to(to, list, context, variants, errors);
    }
    if (!ran) return ran;
    if (errors) return fail("the unit does not compile");
    return {};
  };
  const auto object = tracked_.get(inputs, make);
  const auto unit = object ? link(context, *object, errors) : object;
  if (errors) return Unit{std::nullopt, *errors};
  if (!apart.empty()) return Unit{std::nullopt, {}, apart};
  TRY(unit);
  return Unit{*unit};
}

Expected<fs::path> UnitCompiler::compile_user_source(const fs::path& source,
                                                     const BuildContext& context,
                                                     std::optional<std::string>& errors) {
  if (!fs::exists(source)) {
    return fail_at(context.build->where, "cannot read the source '" + source.string() + "'",
                   "paths in [build] are relative to the definition file");
  }
  const std::string identity = context.source_identity + place_in(context.root, source).string();
  const ArtefactInputs inputs{
      identity,
      {"object-" + content_hash(identity)},
      [](const std::string& hash) { return "object-" + hash + "/object-" + hash + ".o"; },
      context.root};
  if (auto made = tracked_.find(inputs.hints.front(), context.root)) return *made;
  return tracked_.get(inputs, [&](const fs::path& to, const fs::path& list) -> Expected<void> {
    const Phase phase = begin_phase(options_.on_phase, "compiling " + source.filename().string());
    std::vector<std::string> arguments = context.source_flags;
    append(arguments, dependency_flags(list));
    append(arguments, {"-c", source.string(), "-o", to.string()});
    TRY(run_compiler(arguments, errors));
    if (errors) return fail("the sources of [build] do not compile");
    return {};
  });
}

Expected<std::vector<fs::path>> UnitCompiler::compile_user_sources(BuildContext& context) {
  const std::vector<fs::path>& sources = context.build->sources;
  std::vector<fs::path> objects(sources.size());
  std::vector<std::optional<std::string>> errors(sources.size());
  const auto done = run_parallel(sources.size(), options_.jobs, [&](std::size_t i) {
    return compile_user_source(sources[i], context, errors[i]).map([&](fs::path&& object) {
      objects[i] = std::move(object);
    });
  });
  for (auto& error : errors) {
    if (error && !context.failure) context.failure = std::move(error);
  }
  TRY(done);
  return objects;
}

Expected<void> UnitCompiler::make_user_library(BuildContext& context) {
  TRY_ASSIGN(const auto objects, compile_user_sources(context));
  std::vector<std::string> arguments = context.source_flags;
  append(arguments, {"-shared", "-Wl,-soname," + user_library_name(*context.build)});
  for (const auto& object : objects) arguments.push_back(object.string());
  append(arguments, context.link_flags);
  const std::string name = "libuser-" + content_hash(identity_ + one_per_line(arguments) +
                                                     identify_libraries(*context.build));
  TRY_ASSIGN(context.linked.sources, cache_.get(name + "/" + name + ".so", [&](const fs::path& to) {
    append(arguments, {"-o", to.string()});
    return run_compiler(arguments, context.failure).and_then([&]() -> Expected<void> {
      if (context.failure) return fail("the sources of [build] do not link");
      return {};
    });
  }));
  return {};
}

Expected<BuildContext> UnitCompiler::prepare(const std::shared_ptr<const BuildOptions>& build) {
  BuildContext context;
  context.build = build;
  context.linked = {build.get(), {}, read_string_layout(options_.libtorch)};
  context.flags = options_.toolchain.flags;
  append(context.flags, common_flags());
  context.link_flags = {"-Wl,-z,now", "-Wl,-z,defs", "-Wl,--no-as-needed"};
  append(context.link_flags, options_.toolchain.link_flags);
  std::string identity =
      identity_ + (options_.each_alone ? "\neach alone" : "") + "\n" + one_per_line(context.flags);
  if (build) identity += add_build(*build, context);
  std::string link_identity =
      identity + one_per_line(context.link_flags) + (build ? identify_libraries(*build) : "");
  if (build && !build->sources.empty()) {
    const auto made = make_user_library(context);
    if (!made && !context.failure) return fail(made.error());
  }
  if (context.linked.sources) {
    link_identity += identify_exports(*context.linked.sources) + user_library_name(*build);
    context.link_flags.insert(context.link_flags.begin() + 3,
                              {"-Wl,-rpath,$ORIGIN", context.linked.sources->string()});
  }
  context.hash = content_hash(identity);
  context.link_hash = content_hash(link_identity);
  return context;
}

// Adds the user's options, and returns their identity.
std::string UnitCompiler::add_build(const BuildOptions& build, BuildContext& context) const {
  // With line numbers, the code refers to files by their full path.
  const std::string identity = options_.line_numbers ? build.root.string() + "\n" : "";
  if (!options_.line_numbers) context.root = build.root;
  context.source_flags = options_.toolchain.user_flags;
  append(context.source_flags, common_flags());
  context.source_identity = identity_ + "\n" + one_per_line(context.source_flags) + identity +
                            describe_compile_options(build);
  for (auto* flags : {&context.flags, &context.source_flags}) {
    append(*flags, user_compile_flags(build));
    // Before LibTorch's own flag of this kind, as its folder may be below this one.
    if (build.root.empty()) continue;
    context.root_flag = root_flag(build.root, options_.line_numbers);
    flags->insert(flags->begin(), context.root_flag);
  }
  append(context.link_flags, user_link_flags(build));
  return identity + describe_build(build);
}

Expected<fs::path> UnitCompiler::link(const BuildContext& context, const fs::path& object,
                                      std::optional<std::string>& errors) {
  const std::string hash = content_hash(context.link_hash + object.filename().string());
  const std::string name = (context.linked.sources ? "linked-" : "unit-") + hash + ".so";
  TRY_ASSIGN(const auto linked, cache_.get(name, [&](const fs::path& to) -> Expected<void> {
    std::vector<std::string> arguments = context.flags;
    append(arguments, {"-shared", "-o", to.string(), object.string()});
    append(arguments, context.link_flags);
    TRY(run_compiler(arguments, errors));
    if (errors) return fail("the unit does not link");
    return {};
  }));
  const std::string parts = name + context.linked.sources.value_or("").filename().string();
  const std::string unit = context.linked.sources ? "unit-" + content_hash(parts) + ".so" : name;
  tracked_.copy_files(object.filename().string(), unit);
  if (!context.linked.sources) return linked;
  return cache_.get(unit, [&](const fs::path& to) {
    return put_together(linked, *context.linked.sources, user_library_name(*context.build), to);
  });
}

Expected<fs::path> UnitCompiler::link(const BuildContext& context, const fs::path& object) {
  std::optional<std::string> errors;
  return link(context, object, errors);
}

}  // namespace instr
