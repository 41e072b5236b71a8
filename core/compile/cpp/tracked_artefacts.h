// Artefacts in the cache that also depend on files which only the compiler knows, such as headers:
// an artefact is used again only while these files are unchanged.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/compile/cache.h"

namespace instr {

// Returns the files that the target depends on, according to a compiler's list for make (-MD).
std::vector<std::filesystem::path> parse_dependency_list(const std::string& list);

// The inputs of an artefact, besides files.
struct ArtefactInputs {
  std::string identity;
  std::vector<std::string> hints;                               // names of hints to the artefact
  std::function<std::string(const std::string& hash)> name_of;  // the name in the cache
  std::filesystem::path root = {};  // files below it are known by their place in it
};

// The tracked artefacts of a cache. An object of this class hashes each file only once.
class TrackedArtefacts {
 public:
  // Ignores files below the folders in `known`, whose identity is checked elsewhere.
  TrackedArtefacts(Cache& cache, std::vector<std::filesystem::path> known);

  // Returns the artefact that this hint names, if it is up to date. `root`: as in ArtefactInputs.
  std::optional<std::filesystem::path> find(const std::string& hint,
                                            const std::filesystem::path& root) const;

  // Makes the artefact if it is missing, and writes its hints. `make` lets the compiler write its
  // list to `list`. Fails if the list names a file of the checked-out tree while another commit is
  // measured (core/base/checkout_guard.h).
  using Make = std::function<Expected<void>(const std::filesystem::path& to,
                                            const std::filesystem::path& list)>;
  Expected<std::filesystem::path> get(const ArtefactInputs& inputs, const Make& make) const;

  // Returns the files that an artefact was made of, with their hashes. `root`: as in
  // ArtefactInputs.
  std::map<std::string, std::string> list_files(const std::string& artefact,
                                                const std::filesystem::path& root) const;
  // Keeps the same files for an artefact that was made of another one.
  void copy_files(const std::string& from, const std::string& to) const;

 private:
  struct File {
    std::filesystem::path path;  // relative to the root, if it is below it
    std::string hash;
  };
  // Identifies an artefact by its inputs and these files.
  std::string identify(const ArtefactInputs& inputs,
                       const std::set<std::filesystem::path>& files) const;
  std::optional<std::string> read_artefact_name(const std::string& hint) const;
  std::optional<std::vector<File>> read_files(const std::string& artefact) const;
  // Records nothing if a file has changed since `begin`, as the compiler may have read either
  // content.
  void keep_files(const std::string& artefact, const std::filesystem::path& list,
                  const std::filesystem::path& root, std::filesystem::file_time_type begin) const;
  bool are_unchanged(const std::vector<File>& files, const std::filesystem::path& root) const;
  void record_files(const std::vector<File>& files, const std::filesystem::path& root) const;
  // Returns "-" for a file that cannot be read.
  std::string hash_now(const std::filesystem::path& file) const;

  struct Hashes {
    std::mutex mutex;
    std::map<std::filesystem::path, std::string> by_file;
  };
  Cache* cache_;
  std::vector<std::filesystem::path> known_;
  std::unique_ptr<Hashes> hashes_ = std::make_unique<Hashes>();
};

}  // namespace instr
