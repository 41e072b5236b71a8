#include "core/compile/cache_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>
#include <vector>

#include "core/base/content_hash.h"
#include "core/base/environment.h"
#include "core/base/file_lock.h"
#include "core/base/process.h"
#include "core/base/read_file.h"
#include "core/base/trusted_path.h"

namespace instr {

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

const char* const kCure = "set INSTR_BENCH_CACHE to a folder of your own, or use --no-cache";

constexpr const char* kParts[] = {"artefacts", "locks", "hints", "runs"};

// Returns true for the name of an entry that this program or tools/ may make in a cache, perhaps
// before the other entries exist.
bool is_own_name(const std::string& name) {
  return std::ranges::find(kParts, name) != std::end(kParts) || name == "lock" || name == "costs" ||
         name.starts_with("venv-");
}

// Fails if the folder contains something and is no cache, such as a system folder that a link
// leads to.
Expected<void> check_content(const fs::path& folder) {
  std::error_code error;
  const auto is_there = [&](const char* part) { return fs::is_directory(folder / part, error); };
  if (std::ranges::all_of(kParts, is_there)) return {};
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (is_own_name(name)) continue;
    const fs::path real = fs::weakly_canonical(folder, error);
    return fail("the cache '" + folder.string() + "'" +
                    (real == folder ? "" : ", which leads to '" + real.string() + "',") +
                    " is in use for something else: it contains '" + name + "'",
                "set INSTR_BENCH_CACHE to an empty or new folder of your own, or use --no-cache");
  }
  return {};
}

Expected<void> check_owner(const fs::path& folder) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) return {};
  if (!S_ISDIR(status.st_mode)) {
    return fail("the cache '" + folder.string() + "' is not a folder", kCure);
  }
  if (status.st_uid != ::geteuid()) {
    return fail("the cache '" + folder.string() + "' belongs to another user", kCure);
  }
  if ((status.st_mode & 022) != 0) {
    return fail("others may write to the cache '" + folder.string() + "'",
                "run: chmod 700 '" + folder.string() + "'");
  }
  return {};
}

Expected<void> check_parents(const fs::path& folder) {
  return check_trusted(folder).map_error([&](const Error& error) {
    std::string advice = error.advice.empty() ? kCure : error.advice + "; or " + kCure;
    return Error{{}, "the cache '" + folder.string() + "': " + error.what, advice};
  });
}

// Makes the folder and missing parents, private whatever the umask. Returns false and sets errno if
// that fails.
bool make_folders(const fs::path& folder) {
  if (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return true;
  if (errno != ENOENT || !folder.has_relative_path()) return false;
  return make_folders(folder.parent_path()) &&
         (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST);
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

std::optional<fs::path> configured_cache_folder() {
  if (const auto folder = variable_value("INSTR_BENCH_CACHE")) return fs::absolute(*folder);
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg != nullptr && *xdg == '/') {
    return fs::path(xdg) / "instr_bench";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') {
    return fs::path(home) / ".cache" / "instr_bench";
  }
  return std::nullopt;
}

Expected<void> check_cache_folder(const fs::path& folder) {
  TRY(check_owner(folder));
  TRY(check_parents(folder));
  return check_content(folder);
}

Expected<void> prepare_cache_folder(const fs::path& folder) {
  if (!make_folders(folder)) return fail(std::strerror(errno));
  for (const char* part : kParts) {
    if (::mkdir((folder / part).c_str(), 0700) != 0 && errno != EEXIST) {
      return fail(std::strerror(errno));
    }
  }
  return FileLock::attempt(folder / "lock", LockKind::kShared).map([](const auto&) {});
}

}  // namespace instr
