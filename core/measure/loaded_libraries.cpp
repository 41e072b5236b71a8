#include "core/measure/loaded_libraries.h"

#include <algorithm>
#include <sstream>

#include "core/base/read_file.h"
#include "core/compile/cache_files.h"
#include "core/compile/elf.h"
#include "core/results/library_fields.h"

namespace instr {

namespace fs = std::filesystem;

namespace {

constexpr const char* kCore = "libtorch_cpu.so";

bool is_library(const fs::path& path) {
  std::string name = path.filename().string();
  return name.find(".so") != std::string::npos && !name.starts_with("vgpreload_");
}

bool is_core(const MappedFile& library) { return library_name(library.path).starts_with(kCore); }

bool is_libc(const MappedFile& library) { return library_name(library.path) == "libc.so.6"; }

fs::path folder_of(const std::vector<MappedFile>& libraries, bool is_it(const MappedFile&)) {
  for (const MappedFile& library : libraries) {
    if (is_it(library)) return library.path.parent_path();
  }
  return {};
}

bool starts_with_any(const std::string& name, std::initializer_list<const char*> starts) {
  return std::any_of(starts.begin(), starts.end(),
                     [&name](const char* start) { return name.starts_with(start); });
}

std::string identity_of(const MappedFile& library) {
  if (auto id = elf_build_id(library.path)) return *id;
  return file_hash(library.path).value_or("inode " + library.inode);
}

}  // namespace

std::vector<MappedFile> mapped_libraries(std::string_view maps) {
  std::vector<MappedFile> libraries;
  std::istringstream lines{std::string(maps)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string range, access, offset, device, inode, path;
    words >> range >> access >> offset >> device >> inode >> std::ws;
    std::getline(words, path);
    bool is_code = access.find('x') != std::string::npos;
    if (!is_code || !path.starts_with('/') || !is_library(path)) continue;
    bool is_known = std::any_of(libraries.begin(), libraries.end(),
                                [&path](const MappedFile& known) { return known.path == path; });
    if (!is_known) libraries.push_back({path, device + " " + inode});
  }
  return libraries;
}

std::string library_name(const fs::path& path) {
  std::string name = path.filename().string();
  std::size_t end = name.find(".so") + 3;
  if (end < name.size() && name[end] == '.') end = name.find_first_of(". ", end + 1);
  return name.substr(0, end);
}

std::map<std::string, std::string> library_fields(const std::vector<MappedFile>& libraries) {
  fs::path core = folder_of(libraries, is_core);
  // The system's LibTorch is in the folder of all other libraries.
  bool has_folder = !core.empty() && core != folder_of(libraries, is_libc);
  std::map<std::string, std::string> fields;
  for (const MappedFile& library : libraries) {
    std::string name = library_name(library.path);
    if (is_core(library)) continue;
    bool is_torch = (has_folder && library.path.parent_path() == core) ||
                    starts_with_any(name, {"libtorch", "libc10", "libcaffe2", "libshm"});
    std::string& id = fields[std::string(is_torch ? kTorchLibrary : kLibrary) + name];
    id += (id.empty() ? "" : "+") + identity_of(library);
  }
  return fields;
}

std::map<std::string, std::string> loaded_libraries(pid_t process) {
  auto maps = read_file("/proc/" + std::to_string(process) + "/maps", kMostText);
  return library_fields(mapped_libraries(maps.value_or("")));
}

}  // namespace instr
