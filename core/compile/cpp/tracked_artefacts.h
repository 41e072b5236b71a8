// Artefacts in the cache that are also made of files which only the compiler knows, such as
// headers: each is found again only while these have the content that it was made of.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/compile/cache.h"

namespace instr {

// The files that a compiler's list for make (-MD) names as what its target depends on.
std::vector<std::filesystem::path> parse_dependency_list(const std::string& list);

// The inputs of an artefact, besides files.
struct ArtefactInputs {
  std::string identity;  // of all of it
  // Names of the hints that lead to the artefact.
  std::vector<std::string> hints;
  std::function<std::string(const std::string& hash)> name_of;  // in the cache
};

// The tracked artefacts of one cache. An object of this class hashes each file only once.
class TrackedArtefacts {
 public:
  // Files below the folders in `known` are not looked at: their identity is known otherwise.
  TrackedArtefacts(Cache& cache, std::vector<std::filesystem::path> known);

  // The artefact that this hint leads to, if it is still what would be made.
  std::optional<std::filesystem::path> find(const std::string& hint) const;

  // Makes the artefact if it is missing, and writes its hints. `make` has the compiler write its
  // list to `list`. An error also if that names a file of the checked-out tree while another commit
  // is measured (core/base/measured_tree.h).
  using Make = std::function<Expected<void>(const std::filesystem::path& to,
                                            const std::filesystem::path& list)>;
  Expected<std::filesystem::path> get(const ArtefactInputs& inputs, const Make& make) const;

 private:
  struct File {
    std::filesystem::path path;
    std::string hash;
  };
  // The name that the hint holds.
  std::optional<std::string> artefact_of(const std::string& hint) const;
  std::optional<std::vector<File>> files_of(const std::string& artefact) const;
  // Keeps nothing if a file has changed since `begin`: which content the compiler has read is then
  // not known.
  void keep_files(const std::string& artefact, const std::filesystem::path& list,
                  std::filesystem::file_time_type begin) const;
  bool are_same(const std::vector<File>& files) const;
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
