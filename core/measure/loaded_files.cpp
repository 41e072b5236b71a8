#include "core/measure/loaded_files.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <tuple>

#include "core/base/content_hash.h"
#include "core/base/read_file.h"
#include "core/compile/elf.h"
#include "core/compile/python/compile_python.h"
#include "core/results/fingerprint.h"

namespace instr {

namespace {

constexpr const char* kCore = "libtorch_cpu.so";

bool is_library(const fs::path& path) {
  std::string name = path.filename().string();
  return name.find(".so") != std::string::npos && !name.starts_with("vgpreload_");
}

bool is_core(const MappedFile& library) { return library_name(library.path).starts_with(kCore); }

bool is_libc(const MappedFile& library) { return library_name(library.path) == "libc.so.6"; }

// Lists the files whose code is mapped, each once.
std::vector<MappedFile> mapped_files(std::string_view maps) {
  std::vector<MappedFile> files;
  std::istringstream lines{std::string(maps)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string range, access, offset, device, inode, path;
    words >> range >> access >> offset >> device >> inode >> std::ws;
    std::getline(words, path);
    if (access.find('x') == std::string::npos || !path.starts_with('/')) continue;
    const bool is_known = std::any_of(files.begin(), files.end(), [&path](const MappedFile& known) {
      return known.path == path;
    });
    if (!is_known) files.push_back({path, device + " " + inode});
  }
  return files;
}

std::string read_maps(pid_t process) {
  return read_file("/proc/" + std::to_string(process) + "/maps", kMaxTextBytes).value_or("");
}

fs::path find_folder(const std::vector<MappedFile>& libraries, bool is_it(const MappedFile&)) {
  for (const MappedFile& library : libraries) {
    if (is_it(library)) return library.path.parent_path();
  }
  return {};
}

bool starts_with_any(const std::string& name, std::initializer_list<const char*> starts) {
  return std::any_of(starts.begin(), starts.end(),
                     [&name](const char* start) { return name.starts_with(start); });
}

std::string identify(const MappedFile& library) {
  if (auto id = read_build_id(library.path)) return *id;
  return file_hash(library.path).value_or("inode " + library.inode);
}

constexpr long kTick = 10'000'000;  // ns; the clock that stamps files may be so far behind

std::optional<struct stat> read_stamp(const fs::path& file) {
  struct stat stamp {};
  if (::stat(file.c_str(), &stamp) != 0) return std::nullopt;
  return stamp;
}

auto nanoseconds(const timespec& time) { return time.tv_sec * 1'000'000'000L + time.tv_nsec; }

auto identity(const struct stat& stamp) {
  return std::tuple(stamp.st_dev, stamp.st_ino, stamp.st_size, nanoseconds(stamp.st_mtim),
                    nanoseconds(stamp.st_ctim));
}

// Lists the code below a folder, sorted; the file itself if it is none.
std::vector<fs::path> list_code(const fs::path& place) {
  std::error_code problem;
  if (!fs::is_directory(place, problem)) return {place};
  std::vector<fs::path> files;
  const auto options = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator it(place, options, problem), end; !problem && it != end;
       it.increment(problem)) {
    const fs::path& file = it->path();
    if (file.extension() == ".py" || file.extension() == ".so") files.push_back(file);
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

std::vector<MappedFile> mapped_libraries(std::string_view maps) {
  std::vector<MappedFile> libraries = mapped_files(maps);
  std::erase_if(libraries, [](const MappedFile& file) { return !is_library(file.path); });
  return libraries;
}

std::string library_name(const fs::path& path) {
  std::string name = path.filename().string();
  std::size_t end = name.find(".so") + 3;
  if (end < name.size() && name[end] == '.') end = name.find_first_of(". ", end + 1);
  return name.substr(0, end);
}

std::map<std::string, std::string> library_fields(const std::vector<MappedFile>& libraries) {
  fs::path core = find_folder(libraries, is_core);
  // The system's LibTorch is in the folder of all other libraries.
  bool has_folder = !core.empty() && core != find_folder(libraries, is_libc);
  std::map<std::string, std::string> fields;
  for (const MappedFile& library : libraries) {
    std::string name = library_name(library.path);
    if (is_core(library)) continue;
    bool is_torch = (has_folder && library.path.parent_path() == core) ||
                    starts_with_any(name, {"libtorch", "libc10", "libcaffe2", "libshm"});
    std::string& id = fields[std::string(is_torch ? kTorchLibrary : kLibrary) + name];
    id += (id.empty() ? "" : "+") + identify(library);
  }
  return fields;
}

std::map<std::string, std::string> loaded_libraries(pid_t process) {
  return library_fields(mapped_libraries(read_maps(process)));
}

std::vector<fs::path> loaded_files_in(const std::string& list) {
  std::vector<fs::path> files;
  std::istringstream lines(list);
  for (std::string line; std::getline(lines, line);) {
    const bool is_installed =
        std::ranges::any_of(
            std::array{"/lib/python3", "/libpython3", "/site-packages/", "/dist-packages/"},
            [&line](const char* part) { return line.find(part) != line.npos; }) ||
        starts_with_any(line, {"/lib", "/usr/lib", "/usr/local/lib"});
    if (!is_installed && line.starts_with('/')) files.emplace_back(line);
  }
  return files;
}

UsedFiles UsedFiles::of(pid_t process, const fs::path& worker, timespec started) {
  UsedFiles used;
  const auto add = [&used, started](const fs::path& file) {
    auto stamp = read_stamp(file);
    if (stamp && nanoseconds(stamp->st_ctim) > nanoseconds(started) - kTick) stamp.reset();
    used.stamps_.emplace(file, stamp);
  };
  for (const MappedFile& file : mapped_files(read_maps(process))) add(file.path);
  for (const fs::path& module : list_python_modules(worker)) add(module);
  return used;
}

std::optional<fs::path> UsedFiles::changed() const {
  for (const auto& [file, stamp] : stamps_) {
    const auto now = read_stamp(file);
    if (!stamp || !now || identity(*now) != identity(*stamp)) return file;
  }
  return std::nullopt;
}

const InputHashes::Input& InputHashes::read(const fs::path& file) {
  const auto [entry, is_new] = inputs_.try_emplace(file);
  Input& input = entry->second;
  if (!is_new) return input;
  std::string hashes;
  for (const fs::path& part : list_code(file)) {
    std::error_code ignored;
    const auto changed = fs::last_write_time(part, ignored);
    if (!ignored) input.changed = std::max(input.changed, changed);
    const std::string hash = file_hash(part).value_or("-");
    if (part == file) {
      input.hash = hash;
      return input;
    }
    hashes += part.lexically_relative(file).string() + " " + hash + "\n";
  }
  input.hash = content_hash(hashes);
  return input;
}

const std::string& InputHashes::of(const fs::path& file) { return read(file).hash; }

std::string InputHashes::of_unchanged(const fs::path& file, fs::file_time_type begin) {
  const Input& input = read(file);
  const bool may_differ =
      input.changed >= begin && input.changed <= fs::file_time_type::clock::now();
  return may_differ ? "changed" : input.hash;
}

}  // namespace instr
