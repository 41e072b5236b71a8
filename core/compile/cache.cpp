#include "core/compile/cache.h"

#include <pwd.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <sstream>
#include <vector>

#include "core/base/private_folder.h"
#include "core/compile/cache_files.h"

namespace instr {

namespace fs = std::filesystem;

namespace {

// Below this much free space a failed artefact is blamed on the disk.
constexpr std::uint64_t kFullDiskBytes = 64ull << 20;

std::optional<fs::path> wanted_folder() {
  if (const char* own = std::getenv("INSTR_BENCH_CACHE"); own != nullptr && *own != '\0') {
    return fs::absolute(own);
  }
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg != nullptr && *xdg == '/') {
    return fs::path(xdg) / "instr_bench";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') {
    return fs::path(home) / ".cache" / "instr_bench";
  }
  return std::nullopt;
}

// A folder that others may change would let them choose the code that we run.
Expected<void> check_owner(const fs::path& folder) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) return {};
  std::string advice = "set INSTR_BENCH_CACHE to a folder of your own, or use --no-cache";
  if (!S_ISDIR(status.st_mode)) {
    return fail("the cache '" + folder.string() + "' is not a folder", advice);
  }
  if (status.st_uid != ::geteuid()) {
    return fail("the cache '" + folder.string() + "' belongs to another user", advice);
  }
  if ((status.st_mode & 022) != 0) {
    return fail("others may write to the cache '" + folder.string() + "'",
                "run: chmod 700 '" + folder.string() + "'");
  }
  return {};
}

// Makes the folder and what the cache keeps in it; the text says why it cannot.
std::optional<std::string> prepare(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder.parent_path(), error);
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return std::strerror(errno);
  ::chmod(folder.c_str(), 0700);
  for (const char* part : {"artefacts", "locks", "hints", "runs", "tmp"}) {
    if (::mkdir((folder / part).c_str(), 0700) != 0 && errno != EEXIST) return std::strerror(errno);
  }
  fs::path probe = folder / "tmp" / ("probe-" + std::to_string(::getpid()));
  auto written = write_text(probe, std::string(4096, '.'));
  fs::remove(probe, error);
  if (!written) return written.error().what;
  return std::nullopt;
}

struct Name {
  std::string folder;
  std::string file;
};

Name split_name(const std::string& name) {
  std::size_t slash = name.find('/');
  if (slash == std::string::npos) return {name, name};
  return {name.substr(0, slash), name.substr(slash + 1)};
}

bool is_disk_full(const fs::path& folder) {
  struct statvfs status {};
  if (::statvfs(folder.c_str(), &status) != 0) return false;
  std::uint64_t free_bytes = std::uint64_t{status.f_bavail} * status.f_frsize;
  bool has_no_files_left = status.f_files != 0 && status.f_favail == 0;
  return free_bytes < kFullDiskBytes || has_no_files_left || (status.f_flag & ST_RDONLY) != 0;
}

// One folder with its layout, and this run's mark in it.
class Store {
 public:
  // `temporary`: the folder that goes with this object.
  explicit Store(fs::path root, std::optional<PrivateFolder> temporary = std::nullopt)
      : root_(std::move(root)), temporary_(std::move(temporary)) {
    static std::atomic<int> serial{0};
    own_ = std::to_string(::getpid()) + "-" + std::to_string(serial++);
    if (auto lock = FileLock::wait(root_ / "runs" / own_, LockKind::kExclusive)) {
      run_.emplace(std::move(*lock));
    }
  }

  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  ~Store() {
    std::error_code ignored;
    if (run_) fs::remove(root_ / "runs" / own_, ignored);
  }

  const fs::path& root() const { return root_; }

  // Shared by all who use artefacts; trim() takes it alone.
  Expected<FileLock> use_lock() const { return FileLock::wait(root_ / "lock", LockKind::kShared); }

  std::optional<fs::path> find(const Name& name) {
    fs::path folder = root_ / "artefacts" / name.folder;
    std::error_code error;
    if (!fs::is_regular_file(folder / name.file, error)) return std::nullopt;
    {
      std::lock_guard guard(mutex_);
      if (used_.count(name.folder) != 0) return folder / name.file;
    }
    if (!is_whole(folder)) return std::nullopt;
    touch_folder(folder);
    mark_used(name.folder);
    return folder / name.file;
  }

  Expected<fs::path> make(const Name& name,
                          const std::function<Expected<void>(const fs::path&)>& make) {
    static std::atomic<int> serial{0};
    fs::path scratch = root_ / "tmp" / (own_ + "-" + std::to_string(serial++));
    std::error_code error;
    fs::create_directories(scratch, error);
    if (error) return fail("cannot make '" + scratch.string() + "': " + error.message());
    auto result = make_in(scratch, name, make);
    fs::remove_all(scratch, error);
    return result;
  }

  void discard(const Name& name) {
    std::lock_guard guard(mutex_);
    used_.erase(name.folder);
    std::error_code ignored;
    fs::remove(root_ / "artefacts" / name.folder / ".sum", ignored);  // no longer whole
  }

  void trim(std::uint64_t max_bytes) {
    auto alone = FileLock::attempt(root_ / "lock", LockKind::kExclusive);
    if (!alone) return;  // somebody is making or looking for something: another run will trim
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(root_ / "tmp", error)) {
      std::error_code ignored;
      fs::remove_all(entry.path(), ignored);
    }
    std::set<std::string> in_use = used_by_all();
    std::vector<FolderUse> uses;
    std::uint64_t total = 0;
    for (const auto& entry : fs::directory_iterator(root_ / "artefacts", error)) {
      uses.push_back(folder_use(entry.path()));
      total += uses.back().bytes;
    }
    std::sort(uses.begin(), uses.end(),
              [](const auto& a, const auto& b) { return a.last_use < b.last_use; });
    for (const auto& use : uses) {
      if (total <= max_bytes) break;
      std::string name = use.folder.filename().string();
      if (in_use.count(name) != 0) continue;
      fs::remove_all(use.folder, error);
      fs::remove(root_ / "locks" / name, error);
      total -= use.bytes;
    }
    trim_hints();
  }

 private:
  Expected<fs::path> make_in(const fs::path& scratch, const Name& name,
                             const std::function<Expected<void>(const fs::path&)>& make) {
    fs::path made = scratch / name.folder;
    std::error_code error;
    fs::create_directory(made, error);
    if (error) return fail("cannot make '" + made.string() + "': " + error.message());
    if (auto done = make(made / name.file); !done) return tl::unexpected(done.error());
    if (auto sealed = seal_folder(made); !sealed) return tl::unexpected(sealed.error());
    fs::path place = root_ / "artefacts" / name.folder;
    // What is there already is broken: a whole one would have been found.
    fs::rename(place, scratch / "broken", error);
    fs::rename(made, place, error);
    if (error) return fail("cannot put '" + place.string() + "' in place: " + error.message());
    mark_used(name.folder);
    return place / name.file;
  }

  void mark_used(const std::string& name) {
    std::lock_guard guard(mutex_);
    if (!used_.insert(name).second || !run_) return;
    std::string line = name + "\n";
    // A lost mark only lets another run's trim() remove what we loaded already.
    [[maybe_unused]] ssize_t put = ::write(run_->descriptor(), line.data(), line.size());
  }

  // Artefacts used by this run and by all others that are alive; marks of dead ones go.
  std::set<std::string> used_by_all() {
    std::lock_guard guard(mutex_);
    std::set<std::string> names = used_;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(root_ / "runs", error)) {
      if (entry.path().filename() == own_) continue;
      if (FileLock::attempt(entry.path(), LockKind::kExclusive)) {
        std::error_code ignored;
        fs::remove(entry.path(), ignored);
        continue;
      }
      std::istringstream lines(read_text(entry.path()).value_or(""));
      std::string line;
      while (std::getline(lines, line)) names.insert(line);
    }
    return names;
  }

  // Hints about a unit begin with its name; those about lost ones go.
  void trim_hints() {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(root_ / "hints", error)) {
      std::istringstream words(read_text(entry.path()).value_or(""));
      std::string name;
      words >> name;
      std::error_code ignored;
      if (name.rfind("unit-", 0) != 0) continue;  // not about an artefact
      if (fs::exists(root_ / "artefacts" / split_name(name).folder, ignored)) continue;
      fs::remove(entry.path(), ignored);
    }
  }

  fs::path root_;
  std::optional<PrivateFolder> temporary_;
  std::string own_;  // this run's name
  std::optional<FileLock> run_;
  std::mutex mutex_;
  std::set<std::string> used_;  // found whole or made in this run
};

}  // namespace

namespace {

Expected<std::unique_ptr<Store>> temporary_store() {
  auto folder = PrivateFolder::make();
  if (!folder) return tl::unexpected(folder.error());
  fs::path root = folder->path();
  if (auto problem = prepare(root)) return fail("cannot use '" + root.string() + "': " + *problem);
  return std::make_unique<Store>(root, std::move(*folder));
}

}  // namespace

struct Cache::State {
  mutable std::mutex mutex;
  std::unique_ptr<Store> store;     // never changed once set
  std::unique_ptr<Store> fallback;  // set when the disk turns out to be full
  std::optional<std::string> note;

  Store& current() {
    std::lock_guard guard(mutex);
    return fallback ? *fallback : *store;
  }

  // What this run needs from now on goes to a temporary folder.
  Expected<void> fall_back(const std::string& reason) {
    std::lock_guard guard(mutex);
    if (fallback) return {};
    auto made = temporary_store();
    if (!made) return tl::unexpected(made.error());
    fallback = std::move(*made);
    note = reason;
    return {};
  }
};

Cache::Cache(std::unique_ptr<State> state) : state_(std::move(state)) {}
Cache::Cache(Cache&&) noexcept = default;
Cache& Cache::operator=(Cache&&) noexcept = default;
Cache::~Cache() = default;

Expected<Cache> Cache::open(bool enabled) {
  auto state = std::make_unique<State>();
  auto wanted = wanted_folder();
  if (enabled && wanted) {
    if (auto safe = check_owner(*wanted); !safe) return tl::unexpected(safe.error());
    auto problem = prepare(*wanted);
    if (!problem) {
      state->store = std::make_unique<Store>(*wanted);
      return Cache(std::move(state));
    }
    state->note = "the cache '" + wanted->string() + "' cannot be written (" + *problem +
                  "): compiled code is not kept";
  } else if (enabled) {
    state->note = "no home folder for the cache: compiled code is not kept; set INSTR_BENCH_CACHE";
  } else {
    state->note = "no cache, as asked: compiled code is not kept";
  }
  auto temporary = temporary_store();
  if (!temporary) return tl::unexpected(temporary.error());
  state->store = std::move(*temporary);
  return Cache(std::move(state));
}

std::optional<fs::path> Cache::find(const std::string& name) const {
  for (Store* store : {&state_->current(), state_->store.get()}) {
    auto lock = store->use_lock();
    if (auto found = store->find(split_name(name))) return found;
  }
  return std::nullopt;
}

Expected<fs::path> Cache::get(const std::string& name,
                              const std::function<Expected<void>(const fs::path&)>& make) {
  if (auto found = find(name)) return *found;
  Name parts = split_name(name);
  auto attempt = [&](Store& store) -> Expected<fs::path> {
    auto use = store.use_lock();
    if (!use) return tl::unexpected(use.error());
    auto alone = FileLock::wait(store.root() / "locks" / parts.folder, LockKind::kExclusive);
    if (!alone) return tl::unexpected(alone.error());
    if (auto found = store.find(parts)) return *found;
    return store.make(parts, make);
  };
  Store& store = state_->current();
  auto made = attempt(store);
  if (made || &store != state_->store.get() || !is_disk_full(store.root())) return made;
  std::string reason = "the cache '" + store.root().string() +
                       "' has no room left: compiled code is not kept";
  if (auto moved = state_->fall_back(reason); !moved) return made;
  return attempt(state_->current());
}

void Cache::discard(const std::string& name) {
  for (Store* store : {&state_->current(), state_->store.get()}) store->discard(split_name(name));
}

std::optional<std::string> Cache::read_hint(const std::string& name) const {
  if (auto text = read_text(state_->current().root() / "hints" / name)) return text;
  return read_text(state_->store->root() / "hints" / name);
}

void Cache::write_hint(const std::string& name, const std::string& text) {
  const fs::path& root = state_->current().root();
  auto use = state_->current().use_lock();
  static std::atomic<int> serial{0};
  fs::path scratch = root / "tmp" /
                     ("hint-" + std::to_string(::getpid()) + "-" + std::to_string(serial++));
  std::error_code ignored;
  if (write_text(scratch, text)) fs::rename(scratch, root / "hints" / name, ignored);
  fs::remove(scratch, ignored);
}

void Cache::trim(std::uint64_t max_bytes) { state_->store->trim(max_bytes); }

const fs::path& Cache::folder() const { return state_->current().root(); }

std::optional<std::string> Cache::note() const {
  std::lock_guard guard(state_->mutex);
  return state_->note;
}

}  // namespace instr
