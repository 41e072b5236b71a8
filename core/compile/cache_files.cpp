#include "core/compile/cache_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <sstream>
#include <vector>

#include "core/base/content_hash.h"
#include "core/base/process.h"
#include "core/base/read_file.h"

namespace instr {

namespace fs = std::filesystem;

namespace {

constexpr const char* kSumName = ".sum";

// Returns "size hash" of each file in the folder by relative path, except for the seal itself.
std::optional<std::map<std::string, std::string>> hash_files(const fs::path& folder) {
  std::map<std::string, std::string> sums;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().filename() == kUnsealedName) it.disable_recursion_pending();
    if (!it->is_regular_file(error) || it->path().filename() == kSumName) continue;
    auto hash = file_hash(it->path());
    if (!hash) return std::nullopt;
    sums[it->path().lexically_relative(folder).string()] =
        std::to_string(it->file_size(error)) + " " + *hash;
  }
  if (error || sums.empty()) return std::nullopt;
  return sums;
}

std::string format_sums(const std::map<std::string, std::string>& sums) {
  std::string text;
  for (const auto& [name, sum] : sums) text += sum + " " + name + "\n";
  return text;
}

// Compares sizes only, so that truncated files need not be read.
bool sizes_match(const fs::path& folder, const std::string& seal) {
  std::istringstream lines(seal);
  std::string line;
  bool any = false;
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    std::uintmax_t size = 0;
    std::string hash;
    std::string name;
    if (!(fields >> size >> hash) || !fields.ignore(1) || !std::getline(fields, name)) return false;
    std::error_code error;
    if (fs::file_size(folder / name, error) != size || error) return false;
    any = true;
  }
  return any;
}

}  // namespace

std::optional<std::string> read_text(const fs::path& file) {
  auto text = read_file(file, kMaxResultsBytes);
  return text ? std::optional(*std::move(text)) : std::nullopt;
}

Expected<void> write_text(const fs::path& file, std::string_view text) {
  Fd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!fd) return fail("cannot write '" + file.string() + "': " + std::strerror(errno));
  while (!text.empty()) {
    ssize_t put = ::write(fd.get(), text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return fail("cannot write '" + file.string() + "': " + std::strerror(errno));
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  return {};
}

Expected<void> seal_folder(const fs::path& folder) {
  auto sums = hash_files(folder);
  if (!sums) return fail("nothing to keep in '" + folder.string() + "'");
  return write_text(folder / kSumName, format_sums(*sums));
}

bool is_whole(const fs::path& folder) {
  auto seal = read_text(folder / kSumName);
  if (!seal || !sizes_match(folder, *seal)) return false;
  auto sums = hash_files(folder);
  return sums && format_sums(*sums) == *seal;
}

void touch_folder(const fs::path& folder) {
  ::utimensat(AT_FDCWD, (folder / kSumName).c_str(), nullptr, 0);
}

FolderUse read_folder_use(const fs::path& folder) {
  FolderUse use;
  use.folder = folder;
  std::error_code error;
  use.last_use = fs::last_write_time(folder / kSumName, error);
  if (error) use.last_use = fs::file_time_type::min();
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code ignored;
    if (!it->is_regular_file(ignored)) continue;
    std::uintmax_t size = it->file_size(ignored);
    if (!ignored) use.bytes += size;
  }
  return use;
}

}  // namespace instr
