// A folder of content-addressed artefacts, shared safely by concurrent runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "core/base/error.h"

namespace instr {

// How a run waits for another one that uses the same cache.
struct CacheWaiting {
  std::stop_token stop = {};  // ends the wait
  std::function<void(const std::string& why)> say =
      {};  // called if the wait takes more than a second
};

class Cache {
 public:
  // Opens $INSTR_BENCH_CACHE, else $XDG_CACHE_HOME/instr_bench, else ~/.cache/instr_bench; made
  // private (0700) to this user. A folder of another user, or one that others may write to or
  // replace (check_trusted), is an error. If it cannot be written, or `enabled` is false, a private
  // temporary folder that is removed with this object takes its place (`note` says so).
  static Expected<Cache> open(bool enabled, CacheWaiting waiting = {});

  Cache(Cache&&) noexcept;
  Cache& operator=(Cache&&) noexcept;
  ~Cache();

  // The artefact of that name ("unit-<hash>.so"), if it exists and is intact. A name like
  // "worker-<hash>/worker" is the file `worker` in the artefact's own folder; `make` may
  // write other files beside it.
  std::optional<std::filesystem::path> find(const std::string& name) const;

  // The artefact of that name; if it is missing, `make` writes it to the path it is given (in
  // the same folder tree), and it is put in place by an atomic rename under a lock, so that
  // concurrent runs make it once. If locks have no effect (machines that share a volume), each
  // makes its own and the first one stays.
  Expected<std::filesystem::path> get(
      const std::string& name,
      const std::function<Expected<void>(const std::filesystem::path&)>& make);

  // Discards an artefact that is intact but turned out to be unusable.
  void discard(const std::string& name);

  // A small text kept under a name, such as the place of a variant's code; nothing if there is
  // none. Texts are hints: they may be lost, and what they name may be gone.
  std::optional<std::string> read_hint(const std::string& name) const;
  void write_hint(const std::string& name, const std::string& text);

  // Removes the least recently used artefacts above `max_bytes`; never one in use by a live run.
  void trim(std::uint64_t max_bytes);

  const std::filesystem::path& folder() const;
  // A folder that is removed with this run, for the compilers' temporary files.
  const std::filesystem::path& scratch() const;
  // Why artefacts are not kept, if they are not: the folder cannot be written, the disk is full.
  std::optional<std::string> note() const;

 private:
  struct State;
  explicit Cache(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace instr
