// The inputs of a compiler run besides the source: flags, the user's [build] table, and texts that
// identify them for the cache.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/process.h"
#include "core/compile/cache.h"
#include "core/compile/compiled_variant.h"

namespace instr {

void append(std::vector<std::string>& to, const std::vector<std::string>& from);
std::string one_per_line(const std::vector<std::string>& words);

// Returns the flags for the compiler's list of the files that it reads (TrackedArtefacts).
std::vector<std::string> dependency_flags(const std::filesystem::path& list);

// Describes why a compiler failed: its own messages, unless the system ended it.
std::string describe_compiler_errors(const CommandResult& result);

// Identifies the inputs that determine the code besides sources: compiler, flags, and LibTorch with
// its headers. Checks size and time of each header, which takes some tens of milliseconds.
std::string identify_toolchain(const CompileOptions& options);

// Returns the compiler's environment: the caller's, but with English messages, no colours, and
// temporary files, which a killed compiler leaves behind, in `scratch`.
std::vector<std::string> compiler_environment(const std::filesystem::path& scratch);

// The name of the library made of the user's sources, by which units find it at their side. It
// differs from that of any other [build] table whose units a process may load.
std::string user_library_name(const BuildOptions& build);

// A compiler gets the first list also when it links, as for -fopenmp and -fsanitize.
std::vector<std::string> user_compile_flags(const BuildOptions& build);
std::vector<std::string> user_link_flags(const BuildOptions& build);

// Describes the options that determine the code of a user's source, or all options. The text is the
// same in each working tree of a repository.
std::string describe_compile_options(const BuildOptions& build);
std::string describe_build(const BuildOptions& build);

// Returns the flag for __FILE__, and for debug information unless it is to name lines: files below
// the root by their place in it, so that the code is the same in each working tree.
std::string root_flag(const std::filesystem::path& root, bool line_numbers);

// Identifies the user's libraries in `library_dirs` by name and content.
std::string identify_libraries(const BuildOptions& build);

// Artefacts in the cache that also depend on files which only the compiler knows, such as headers:
// an artefact is used again only while these files are unchanged.

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
