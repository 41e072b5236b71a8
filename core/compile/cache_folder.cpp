#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "core/base/environment.h"
#include "core/base/file_lock.h"
#include "core/base/trusted_path.h"
#include "core/compile/cache_files.h"

namespace instr {

namespace fs = std::filesystem;

namespace {

const char* const kCure = "set INSTR_BENCH_CACHE to a folder of your own, or use --no-cache";

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
  return check_owner(folder).and_then([&] { return check_parents(folder); });
}

Expected<void> prepare_cache_folder(const fs::path& folder) {
  if (!make_folders(folder)) return fail(std::strerror(errno));
  ::chmod(folder.c_str(), 0700);
  for (const char* part : {"artefacts", "locks", "hints", "runs"}) {
    if (::mkdir((folder / part).c_str(), 0700) != 0 && errno != EEXIST) {
      return fail(std::strerror(errno));
    }
  }
  return FileLock::attempt(folder / "lock", LockKind::kShared).map([](const auto&) {});
}

}  // namespace instr
