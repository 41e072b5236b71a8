#include "core/compile/cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <vector>

#include "core/base/content_hash.h"
#include "core/base/environment.h"
#include "core/base/file_lock.h"
#include "core/base/private_folder.h"
#include "core/base/process.h"
#include "core/base/read_file.h"

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

// Fails if others could change or replace the folder, and thereby choose the code that we run, or
// if it contains something and is no cache.
Expected<void> check_cache_folder(const fs::path& folder) {
  TRY(check_owner(folder));
  TRY(check_parents(folder));
  return check_content(folder);
}

// Returns $INSTR_BENCH_CACHE, else $XDG_CACHE_HOME/instr_bench, else ~/.cache/instr_bench; nothing
// if none of these variables is set.
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

// Makes the folder, if it is missing, with missing parent folders, and the cache's layout in it.
// All that it makes is private to this user; what exists keeps its mode.
Expected<void> prepare_cache_folder(const fs::path& folder) {
  if (!make_folders(folder)) return fail(std::strerror(errno));
  for (const char* part : kParts) {
    if (::mkdir((folder / part).c_str(), 0700) != 0 && errno != EEXIST) {
      return fail(std::strerror(errno));
    }
  }
  return FileLock::attempt(folder / "lock", LockKind::kShared).map([](const auto&) {});
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

// Writes `.sum` into the folder: size and hash of each file in it, except in kUnsealedName.
Expected<void> seal_folder(const fs::path& folder) {
  auto sums = hash_files(folder);
  if (!sums) return fail("nothing to keep in '" + folder.string() + "'");
  return write_text(folder / kSumName, format_sums(*sums));
}

// Records in `.sum`'s modification time that the folder was used now.
void touch_folder(const fs::path& folder) {
  ::utimensat(AT_FDCWD, (folder / kSumName).c_str(), nullptr, 0);
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

bool is_whole(const fs::path& folder) {
  auto seal = read_text(folder / kSumName);
  if (!seal || !sizes_match(folder, *seal)) return false;
  auto sums = hash_files(folder);
  return sums && format_sums(*sums) == *seal;
}

namespace {

constexpr std::uint64_t kFullDiskBytes = 64ull << 20;  // a disk with less free space counts as full

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

constexpr const char* kUsed = "used";  // the artefacts that a run uses, one name per line

// A cache folder with its layout, and this run's folder in it.
class Store {
 public:
  // `temporary`: a folder that is removed with this object.
  static Expected<std::unique_ptr<Store>> open(const fs::path& root, const CacheWaiting& waiting,
                                               std::optional<PrivateFolder> temporary = {}) {
    TRY(prepare_cache_folder(root));
    TRY_ASSIGN(auto own, PrivateFolder::make(root / "runs"));
    // The disk may be full although a folder could be created.
    TRY(write_text(own.path() / "probe", std::string(4096, '.')));
    Fd used(::open((own.path() / kUsed).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    return std::unique_ptr<Store>(
        new Store(root, waiting, std::move(temporary), std::move(own), std::move(used)));
  }

  const fs::path& root() const { return root_; }
  const fs::path& scratch() const { return own_.path(); }

  // Shared by all users of artefacts; exclusive for trim().
  Expected<FileLock> lock_for_use() const {
    return FileLock::wait(root_ / "lock", LockKind::kShared, waiting("removing old artefacts"));
  }

  Expected<FileLock> lock_for_making(const std::string& name) const {
    return FileLock::wait(root_ / "locks" / name, LockKind::kExclusive,
                          waiting("compiling the same code (" + name + ")"));
  }

  // Returns an unused path in this run's folder.
  fs::path new_scratch() { return own_.path() / std::to_string(serial_++); }

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
    fs::path scratch = new_scratch();
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
    // If another run is using the cache, a later run will trim it.
    if (!alone || !*alone) return;
    std::error_code error;
    std::set<std::string> in_use = list_used_by_all();
    std::vector<FolderUse> uses;
    std::uint64_t total = 0;
    for (const auto& entry : fs::directory_iterator(root_ / "artefacts", error)) {
      uses.push_back(read_folder_use(entry.path()));
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
  Store(fs::path root, const CacheWaiting& waiting, std::optional<PrivateFolder> temporary,
        PrivateFolder own, Fd used)
      : root_(std::move(root)),
        waiting_(waiting),
        temporary_(std::move(temporary)),
        own_(std::move(own)),
        used_file_(std::move(used)) {}

  Waiting waiting(const std::string& what) const {
    std::string why =
        "waiting for another run that is " + what + " in the cache '" + root_.string() + "'";
    return {waiting_.stop, [this, why] {
              if (waiting_.say) waiting_.say(why);
            }};
  }

  Expected<fs::path> make_in(const fs::path& scratch, const Name& name,
                             const std::function<Expected<void>(const fs::path&)>& make) {
    fs::path made = scratch / name.folder;
    std::error_code error;
    fs::create_directory(made, error);
    if (error) return fail("cannot make '" + made.string() + "': " + error.message());
    TRY(make(made / name.file));
    TRY(seal_folder(made));
    fs::path place = root_ / "artefacts" / name.folder;
    fs::rename(made, place, error);
    if (error && !is_whole(place)) {
      // A damaged artefact is in the way.
      fs::rename(place, scratch / "broken", error);
      fs::rename(made, place, error);
      if (error) return fail("cannot put '" + place.string() + "' in place: " + error.message());
    }
    mark_used(name.folder);
    return place / name.file;
  }

  void mark_used(const std::string& name) {
    std::lock_guard guard(mutex_);
    if (!used_.insert(name).second) return;
    std::string line = name + "\n";
    // If this mark is lost, another run's trim() may remove an artefact that is already loaded.
    [[maybe_unused]] ssize_t put = ::write(used_file_.get(), line.data(), line.size());
  }

  // Lists the artefacts used by this run and by all others. The folder of a killed run is removed
  // when another run starts.
  std::set<std::string> list_used_by_all() const {
    std::set<std::string> names;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(root_ / "runs", error)) {
      std::istringstream lines(read_text(entry.path() / kUsed).value_or(""));
      for (std::string line; std::getline(lines, line);) names.insert(line);
    }
    return names;
  }

  // Removes hints about lost units; such a hint begins with the unit's name.
  void trim_hints() {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(root_ / "hints", error)) {
      std::istringstream words(read_text(entry.path()).value_or(""));
      std::string name;
      words >> name;
      std::error_code ignored;
      if (name.rfind("unit-", 0) != 0) continue;  // the hint is not about an artefact
      if (fs::exists(root_ / "artefacts" / split_name(name).folder, ignored)) continue;
      fs::remove(entry.path(), ignored);
    }
  }

  const fs::path root_;
  const CacheWaiting& waiting_;
  std::optional<PrivateFolder> temporary_;
  PrivateFolder own_;
  Fd used_file_;
  std::atomic<int> serial_{0};
  std::mutex mutex_;
  std::set<std::string> used_;  // found whole or made in this run
};

Expected<std::unique_ptr<Store>> temporary_store(const CacheWaiting& waiting) {
  TRY_ASSIGN(auto folder, PrivateFolder::make());
  fs::path root = folder.path();
  if (auto trusted = check_trusted(fs::absolute(root)); !trusted) {
    return fail(trusted.error().what, "set TMPDIR to a folder of your own");
  }
  auto store = Store::open(root, waiting, std::move(folder));
  if (!store) return fail("cannot use '" + root.string() + "': " + store.error().what);
  return store;
}

}  // namespace

struct Cache::State {
  explicit State(CacheWaiting given) : waiting(std::move(given)) {}

  const CacheWaiting waiting;
  mutable std::mutex mutex;
  std::unique_ptr<Store> store;     // never changed once set
  std::unique_ptr<Store> fallback;  // set when the disk turns out to be full
  std::optional<std::string> caution;
  std::set<fs::path> inputs;

  Store& current() {
    std::lock_guard guard(mutex);
    return fallback ? *fallback : *store;
  }

  // Puts this run's further artefacts into a temporary folder.
  Expected<void> fall_back(const std::string& reason) {
    std::lock_guard guard(mutex);
    if (fallback) return {};
    TRY_ASSIGN(fallback, temporary_store(waiting));
    caution = reason;
    return {};
  }
};

void Cache::record_files(const std::vector<fs::path>& files) {
  std::lock_guard guard(state_->mutex);
  state_->inputs.insert(files.begin(), files.end());
}

std::set<fs::path> Cache::files_read() const {
  std::lock_guard guard(state_->mutex);
  return state_->inputs;
}

Cache::Cache(std::unique_ptr<State> state) : state_(std::move(state)) {}
Cache::Cache(Cache&&) noexcept = default;
Cache& Cache::operator=(Cache&&) noexcept = default;
Cache::~Cache() = default;

Expected<Cache> Cache::open(bool enabled, CacheWaiting waiting) {
  auto state = std::make_unique<State>(std::move(waiting));
  auto configured = configured_cache_folder();
  if (enabled && configured) {
    TRY(check_cache_folder(*configured));
    auto store = Store::open(*configured, state->waiting);
    if (store) {
      state->store = std::move(*store);
      return Cache(std::move(state));
    }
    state->caution = "the cache '" + configured->string() + "' cannot be written (" +
                     store.error().what + "): compiled code is not kept";
  } else if (enabled) {
    state->caution =
        "no home folder for the cache: compiled code is not kept; set INSTR_BENCH_CACHE";
  } else {
    state->caution = "no cache, as requested: compiled code is not kept";
  }
  TRY_ASSIGN(state->store, temporary_store(state->waiting));
  return Cache(std::move(state));
}

std::optional<fs::path> Cache::find(const std::string& name) const {
  for (Store* store : {&state_->current(), state_->store.get()}) {
    auto lock = store->lock_for_use();
    if (auto found = store->find(split_name(name))) return found;
  }
  return std::nullopt;
}

Expected<fs::path> Cache::get(const std::string& name,
                              const std::function<Expected<void>(const fs::path&)>& make) {
  if (auto found = find(name)) return *found;
  Name parts = split_name(name);
  auto attempt = [&](Store& store) -> Expected<fs::path> {
    TRY_ASSIGN(const auto use, store.lock_for_use());
    TRY_ASSIGN(const auto alone, store.lock_for_making(parts.folder));
    if (auto found = store.find(parts)) return *found;
    return store.make(parts, make);
  };
  Store& store = state_->current();
  auto made = attempt(store);
  if (made || &store != state_->store.get() || !is_disk_full(store.root())) return made;
  std::string reason =
      "the cache '" + store.root().string() + "' has no space left: compiled code is not kept";
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
  Store& store = state_->current();
  fs::path scratch = store.new_scratch();
  std::error_code ignored;
  if (write_text(scratch, text)) fs::rename(scratch, store.root() / "hints" / name, ignored);
  fs::remove(scratch, ignored);
}

void Cache::trim(std::uint64_t max_bytes) { state_->store->trim(max_bytes); }

const fs::path& Cache::folder() const { return state_->current().root(); }

const fs::path& Cache::scratch() const { return state_->current().scratch(); }

std::optional<std::string> Cache::caution() const {
  std::lock_guard guard(state_->mutex);
  return state_->caution;
}

}  // namespace instr
