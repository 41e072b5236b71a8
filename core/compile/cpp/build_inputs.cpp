#include "core/compile/cpp/build_inputs.h"

#include <fmt/core.h>
#include <signal.h>

#include <algorithm>
#include <string_view>

#include "core/base/content_hash.h"
#include "core/base/environment.h"
#include "core/base/place_below.h"

namespace instr {

namespace {

struct InputFile {
  fs::path path;
  std::uintmax_t size = 0;
  fs::file_time_type time;
};

std::vector<InputFile> list_files_below(const fs::path& folder) {
  std::vector<InputFile> files;
  std::error_code error;
  for (fs::recursive_directory_iterator
           it(folder, fs::directory_options::skip_permission_denied, error),
       end;
       !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (!it->is_regular_file(ignored)) continue;
    files.push_back({it->path(), it->file_size(ignored), it->last_write_time(ignored)});
  }
  std::ranges::sort(files, {}, &InputFile::path);
  return files;
}

// The headers of a LibTorch under development may change while its libraries do not. Omits other
// headers in the same folder, such as /usr/include.
std::string identify_headers(const LibTorch& torch) {
  std::string identity;
  for (const auto& include : torch.include_dirs) {
    fs::path base = include.parent_path().filename() == "api" ? fs::path() : include;
    if (base.empty()) {  // .../include/torch/csrc/api/include lies within the other
      if (torch.include_dirs.size() > 1) continue;
      base = include / "../../../..";
    }
    for (const char* part : {"ATen", "c10", "torch"}) {
      for (const auto& file : list_files_below((base / part).lexically_normal())) {
        identity += file.path.string() + " " + std::to_string(file.size) + " " +
                    std::to_string(file.time.time_since_epoch().count()) + "\n";
      }
    }
  }
  return content_hash(identity);
}

}  // namespace

void append(std::vector<std::string>& to, const std::vector<std::string>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

std::string one_per_line(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += word + "\n";
  return text;
}

std::vector<std::string> dependency_flags(const fs::path& list) {
  return {"-MD", "-MF", list.string(), "-MT", "made"};
}

std::string describe_compiler_errors(const CommandResult& result) {
  // A driver may outlive the process that compiles: messages of g++ and of clang.
  const bool was_killed =
      result.exit_code == 128 + SIGKILL ||
      result.errors.find("Killed signal terminated program") != std::string::npos ||
      result.errors.find("unable to execute command: Killed") != std::string::npos;
  if (was_killed) {
    return "the system killed the compiler (SIGKILL), as it does when memory runs out: free some "
           "memory, or compile less at once, with --jobs=1";
  }
  if (!result.errors.empty()) return result.errors;
  return fmt::format("the compiler ended with status {} without a message", result.exit_code);
}

std::string identify_toolchain(const CompileOptions& options) {
  std::string identity = options.toolchain.compiler.string() + "\n" + options.toolchain.version;
  for (const auto& flag : options.toolchain.flags) identity += "\n" + flag;
  for (const auto& flag : options.toolchain.link_flags) identity += "\n" + flag;
  identity += "\n" + options.libtorch.version + " " + options.libtorch.build_id + " " +
              options.libtorch.library_dir.string() + "\n";
  return identity + identify_headers(options.libtorch);
}

std::vector<std::string> compiler_environment(const fs::path& scratch) {
  std::vector<std::string> environment;
  // Variables that would change the code without the cache noticing, or the messages that we parse.
  constexpr std::string_view kDropped[] = {"LC_ALL=",
                                           "LANG=",
                                           "LANGUAGE=",
                                           "CPATH=",
                                           "C_INCLUDE_PATH=",
                                           "CPLUS_INCLUDE_PATH=",
                                           "LIBRARY_PATH=",
                                           "GCC_COLORS=",
                                           "CCC_OVERRIDE_OPTIONS=",
                                           "DEPENDENCIES_OUTPUT=",
                                           "TMPDIR="};
  for (const std::string& text : own_environment()) {
    const bool is_dropped =
        std::ranges::any_of(kDropped, [&](auto name) { return text.starts_with(name); });
    if (!is_dropped) environment.push_back(text);
  }
  environment.push_back("LC_ALL=C");
  environment.push_back("TMPDIR=" + scratch.string());
  return environment;
}

std::string user_library_name(const BuildOptions& build) {
  std::string identity = build.root.string() + "\n" + describe_build(build);
  for (const auto& source : build.sources) identity += source.string() + "\n";
  return "libuser-" + content_hash(identity) + ".so";
}

std::vector<std::string> user_compile_flags(const BuildOptions& build) {
  std::vector<std::string> flags;
  for (const auto& [name, value] : build.defines) {
    flags.push_back("-D" + name + (value.empty() ? "" : "=" + value));
  }
  for (const auto& folder : build.include_dirs) flags.push_back("-I" + folder.string());
  flags.insert(flags.end(), build.flags.begin(), build.flags.end());
  return flags;
}

std::vector<std::string> user_link_flags(const BuildOptions& build) {
  std::vector<std::string> flags;
  for (const auto& folder : build.library_dirs) {
    flags.push_back("-L" + folder.string());
    flags.push_back("-Wl,-rpath," + folder.string());
  }
  for (const auto& library : build.libraries) flags.push_back("-l" + library);
  return flags;
}

std::string describe_compile_options(const BuildOptions& build) {
  std::string text;
  for (const auto& folder : build.include_dirs) {
    text += "I" + place_in(build.root, folder).string() + "\n";
  }
  for (const auto& [name, value] : build.defines) text += "D" + name + "=" + value + "\n";
  for (const auto& flag : build.flags) text += "f" + flag + "\n";
  return text;
}

std::string describe_build(const BuildOptions& build) {
  std::string text = describe_compile_options(build);
  for (const auto& source : build.sources) {
    text += "S" + place_in(build.root, source).string() + "\n";
  }
  for (const auto& library : build.libraries) text += "l" + library + "\n";
  for (const auto& folder : build.library_dirs) {
    text += "L" + place_in(build.root, folder).string() + "\n";
  }
  return text;
}

std::string root_flag(const fs::path& root, bool line_numbers) {
  return std::string(line_numbers ? "-fmacro" : "-ffile") + "-prefix-map=" + root.string() + "/=./";
}

std::string identify_libraries(const BuildOptions& build) {
  std::string identity;
  for (const auto& library : build.libraries) {
    for (const auto& folder : build.library_dirs) {
      for (const char* suffix : {".so", ".a"}) {
        auto hash = file_hash(folder / ("lib" + library + suffix));
        if (hash) identity += "l " + library + suffix + " " + *hash + "\n";
      }
    }
  }
  return identity;
}

}  // namespace instr
