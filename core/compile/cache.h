// The cache's file operations: checksums and small texts, in folders that belong to this user
// alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"

namespace instr {

// Returns the content of a small file; nothing if it cannot be read.
std::optional<std::string> read_text(const std::filesystem::path& file);

Expected<void> write_text(const std::filesystem::path& file, std::string_view text);

// A folder in an artefact that users of the artefact fill, such as a nested cache.
inline constexpr const char* kUnsealedName = "unsealed";

// Returns true if these files are unchanged since they were sealed.
bool is_whole(const std::filesystem::path& folder);

struct FolderUse {
  std::filesystem::path folder;
  std::filesystem::file_time_type last_use;
  std::uint64_t bytes = 0;
};

// A folder of content-addressed artefacts, shared safely by concurrent runs.

// Options for waiting until another run releases the cache.
struct CacheWaiting {
  std::stop_token stop = {};  // ends the wait
  // Called if the wait takes more than a second.
  std::function<void(const std::string& why)> say = {};
};

class Cache {
 public:
  // Opens $INSTR_BENCH_CACHE, else $XDG_CACHE_HOME/instr_bench, else ~/.cache/instr_bench; a
  // missing folder is made, private (0700) to this user. A folder of another user, one that others
  // may write to or replace (check_trusted), or one in use for something else is an error. If it is
  // not writable, or `enabled` is false, uses a private temporary folder instead, removed with this
  // object, and sets caution().
  static Expected<Cache> open(bool enabled, CacheWaiting waiting = {});

  Cache(Cache&&) noexcept;
  Cache& operator=(Cache&&) noexcept;
  ~Cache();

  // Returns the artefact of that name ("unit-<hash>.so") if it exists and is intact. A name like
  // "worker-<hash>/worker" is the file `worker` in the artefact's folder; `make` may write other
  // files beside it.
  std::optional<std::filesystem::path> find(const std::string& name) const;

  // Returns the artefact of that name. If it is missing, `make` writes it to the path it is given
  // (in the same folder tree), and an atomic rename under a lock puts it in place, so concurrent
  // runs make it once. If locks have no effect (machines that share a volume), each run makes it,
  // and the first is kept.
  Expected<std::filesystem::path> get(
      const std::string& name,
      const std::function<Expected<void>(const std::filesystem::path&)>& make);

  // Discards an artefact that is intact but turned out to be unusable.
  void discard(const std::string& name);

  // A hint is a small text kept under a name, such as the place of a variant's code. Hints may get
  // lost, and what they name may have been removed.
  std::optional<std::string> read_hint(const std::string& name) const;
  void write_hint(const std::string& name, const std::string& text);

  // Removes the least recently used artefacts until `max_bytes` remain; none that a run uses.
  void trim(std::uint64_t max_bytes);

  // Notes files from which artefacts of this run were made, and lists all of these.
  void record_files(const std::vector<std::filesystem::path>& files);
  std::set<std::filesystem::path> files_read() const;

  const std::filesystem::path& folder() const;
  // A folder for the compilers' temporary files, removed when this run ends.
  const std::filesystem::path& scratch() const;
  // The reason why artefacts are not kept, if any: the folder is not writable, the disk is full.
  std::optional<std::string> caution() const;

 private:
  struct State;
  explicit Cache(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace instr
