#include "core/compile/cpp/tracked_artefacts.h"

#include <fmt/core.h>
#include <signal.h>

#include <algorithm>
#include <string_view>

#include "core/base/checkout_guard.h"
#include "core/base/content_hash.h"
#include "core/base/environment.h"
#include "core/base/paths.h"
#include "core/base/text.h"
#include "core/compile/source_writer.h"

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

constexpr int kMaxAttempts = 4;

std::string files_hint(const std::string& artefact) { return "files-" + content_hash(artefact); }

std::string content_hint(const std::string& identity) {
  return "made-of-" + content_hash(identity);
}

// A time in the future, as on a machine with a wrong clock, does not count as a change.
bool has_changed_since(fs::file_time_type begin, const fs::path& file) {
  std::error_code error;
  const auto time = fs::last_write_time(file, error);
  return !error && time >= begin && time <= fs::file_time_type::clock::now();
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

// "unit.so: unit.cpp /a/my\ header.h \": spaces and # are escaped, $ is doubled.
std::vector<fs::path> parse_dependency_list(const std::string& list) {
  std::vector<fs::path> files;
  std::string word;
  const auto end_word = [&] {
    if (!word.empty()) files.emplace_back(std::exchange(word, ""));
  };
  const std::size_t target = list.find(": ");
  for (std::size_t i = target == list.npos ? list.size() : target + 2; i < list.size(); ++i) {
    const char c = list[i];
    const char next = i + 1 < list.size() ? list[i + 1] : '\n';
    const bool is_escape = c == '\\' && (next == ' ' || next == '#');
    if (is_escape || (c == '$' && next == '$')) {
      word += list[++i];
    } else if (c == ' ' || c == '\n' || (c == '\\' && next == '\n')) {
      end_word();
    } else {
      word += c;
    }
  }
  end_word();
  return files;
}

TrackedArtefacts::TrackedArtefacts(Cache& cache, std::vector<fs::path> known)
    : cache_(&cache), known_(std::move(known)) {}

std::optional<fs::path> TrackedArtefacts::find(const std::string& hint,
                                               const fs::path& root) const {
  const auto artefact = read_artefact_name(hint);
  const auto files = artefact ? read_files(*artefact) : std::nullopt;
  if (!files || !are_unchanged(*files, root)) return std::nullopt;
  record_files(*files, root);
  return cache_->find(*artefact);
}

Expected<fs::path> TrackedArtefacts::get(const ArtefactInputs& inputs, const Make& make) const {
  std::set<fs::path> files;  // inputs of earlier versions
  for (const std::string& hint : inputs.hints) {
    const auto artefact = read_artefact_name(hint);
    const auto before = artefact ? read_files(*artefact) : std::nullopt;
    for (const File& file : before.value_or(std::vector<File>{})) files.insert(file.path);
  }
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    const std::string identity = identify(inputs, files);
    const std::string artefact =
        read_artefact_name(content_hint(identity)).value_or(inputs.name_of(content_hash(identity)));
    TRY_ASSIGN(const auto place, cache_->get(artefact, [&](const fs::path& to) -> Expected<void> {
      const fs::path list = to.string() + ".d";
      const auto begin = fs::file_time_type::clock::now();
      TRY(make(to, list));
      keep_files(artefact, list, inputs.root, begin);
      return {};
    }));
    const auto made_of = read_files(artefact);
    if (!made_of) {
      cache_->discard(artefact);
      continue;
    }
    for (const File& file : *made_of) {
      files.insert(file.path);
      TRY(check_measured("a file that is included", inputs.root / file.path,
                         "name it, or its folder, relative to the definition file"));
    }
    if (are_unchanged(*made_of, inputs.root)) {
      record_files(*made_of, inputs.root);
      // Its name does not follow from files that were not known before it was made.
      cache_->write_hint(content_hint(identify(inputs, files)), artefact + "\n");
      for (const std::string& hint : inputs.hints) cache_->write_hint(hint, artefact + "\n");
      return place;
    }
    // Its files were not known before, and have changed since it was made.
  }
  return fail("included files change during compilation", "try again");
}

std::string TrackedArtefacts::identify(const ArtefactInputs& inputs,
                                       const std::set<fs::path>& files) const {
  std::string identity = inputs.identity;
  for (const fs::path& file : files) {
    identity += "\n" + file.string() + " " + hash_now(inputs.root / file);
  }
  return identity;
}

std::map<std::string, std::string> TrackedArtefacts::list_files(const std::string& artefact,
                                                                const fs::path& root) const {
  std::map<std::string, std::string> files;
  for (const File& file : read_files(artefact).value_or(std::vector<File>{})) {
    files.emplace((root / file.path).string(), file.hash);
  }
  return files;
}

void TrackedArtefacts::copy_files(const std::string& from, const std::string& to) const {
  if (const auto text = cache_->read_hint(files_hint(from))) {
    cache_->write_hint(files_hint(to), *text);
  }
}

std::optional<std::string> TrackedArtefacts::read_artefact_name(const std::string& hint) const {
  const auto text = cache_->read_hint(hint);
  return text ? std::optional(std::string(trim_end(*text, "\n"))) : std::nullopt;
}

std::optional<std::vector<TrackedArtefacts::File>> TrackedArtefacts::read_files(
    const std::string& artefact) const {
  const auto text = cache_->read_hint(files_hint(artefact));
  if (!text) return std::nullopt;
  std::vector<File> files;
  for (const std::string& line : to_lines(*text)) {
    const std::size_t space = line.find(' ');
    if (line.empty()) continue;
    if (space == line.npos) return std::nullopt;
    files.push_back({line.substr(space + 1), line.substr(0, space)});
  }
  return files;
}

void TrackedArtefacts::keep_files(const std::string& artefact, const fs::path& list,
                                  const fs::path& root, fs::file_time_type begin) const {
  std::string text;
  std::set<fs::path> seen;
  for (const fs::path& file : parse_dependency_list(read_text(list).value_or(""))) {
    const fs::path path = fs::absolute(file).lexically_normal();
    const bool is_known = std::any_of(known_.begin(), known_.end(), [&](const auto& folder) {
      return place_below(path, folder);
    });
    if (is_known || !seen.insert(path).second) continue;
    if (has_changed_since(begin, path)) {
      std::lock_guard lock(hashes_->mutex);
      hashes_->by_file.erase(path);
      return;
    }
    text += hash_now(path) + " " + place_in(root, path).string() + "\n";
  }
  cache_->write_hint(files_hint(artefact), text);
}

bool TrackedArtefacts::are_unchanged(const std::vector<File>& files, const fs::path& root) const {
  return std::all_of(files.begin(), files.end(), [&](const File& file) {
    return hash_now(root / file.path) == file.hash && check_measured("", root / file.path);
  });
}

void TrackedArtefacts::record_files(const std::vector<File>& files, const fs::path& root) const {
  std::vector<fs::path> paths;
  for (const File& file : files) paths.push_back(root / file.path);
  cache_->record_files(paths);
}

std::string TrackedArtefacts::hash_now(const fs::path& file) const {
  std::lock_guard lock(hashes_->mutex);
  auto [it, is_new] = hashes_->by_file.try_emplace(file);
  if (is_new) it->second = file_hash(file).value_or("-");
  return it->second;
}

}  // namespace instr
