#include <algorithm>
#include <system_error>

#include "core/base/content_hash.h"
#include "core/base/place_below.h"
#include "core/compile/cpp/build_inputs.h"
#include "core/compile/cpp/compile_unit.h"
#include "core/compile/cpp/parallel.h"
#include "core/compile/elf.h"

namespace instr {

namespace {

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
    if (options_.on_phase) options_.on_phase("compiling " + source.filename().string());
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
  if (!context.linked.sources) return linked;
  const std::string parts = name + context.linked.sources->filename().string();
  return cache_.get("unit-" + content_hash(parts) + ".so", [&](const fs::path& to) {
    return put_together(linked, *context.linked.sources, user_library_name(*context.build), to);
  });
}

Expected<fs::path> UnitCompiler::link(const BuildContext& context, const fs::path& object) {
  std::optional<std::string> errors;
  return link(context, object, errors);
}

}  // namespace instr
