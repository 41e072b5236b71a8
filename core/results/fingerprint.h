// Everything that may legitimately change a count, by name: runs with equal fingerprints must give
// equal counts.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/definitions/backends.h"

namespace instr {

struct Fingerprint {
  using Entries = std::vector<std::pair<std::string, std::string>>;

  Entries entries;  // name and value, in the order shown
  Entries machine;  // kernel, CPU model: for people; counts do not depend on them

  bool operator==(const Fingerprint& other) const { return entries == other.entries; }

  // The value of an entry, or "".
  std::string get(const std::string& name) const;
};

// {"libtorch_version": "2.13.0", ..., "machine": {"kernel": ...}}
nlohmann::ordered_json to_json(const Fingerprint& fingerprint);

// The fields of loaded libraries, one for each: "library libc.so.6", "libtorch_library libc10.so"
// for those that come with LibTorch, "timed_library ..." for the worker that times. There may be
// hundreds.
inline constexpr std::string_view kOfTimes = "timed_";
inline constexpr const char* kTimedCores = "timed_cores";    // the number of usable cores
inline constexpr const char* kTimedGpu = "timed_gpu_model";  // absent unless something runs on CUDA
inline constexpr std::string_view kLibrary = "library ";
inline constexpr std::string_view kTorchLibrary = "libtorch_library ";
inline constexpr std::string_view kLibraries = "libraries";  // the JSON member for the fields

inline std::string_view without_times(std::string_view name) {
  return name.starts_with(kOfTimes) ? name.substr(kOfTimes.size()) : name;
}

inline bool is_library_field(std::string_view name) {
  name = without_times(name);
  return name.starts_with(kLibrary) || name.starts_with(kTorchLibrary);
}

// Compares the fingerprints of two runs field by field, to decide whether their counts may be
// compared.

enum class FieldClass {
  kMustMatch,    // counts differ for this reason alone: a comparison would be meaningless
  kMayVary,      // the subject of the comparison
  kInformative,  // counts do not depend on it
};

struct FieldDifference {
  std::string name;
  std::optional<std::string> before;  // nothing if that run did not record it
  std::optional<std::string> after;
  FieldClass field_class = FieldClass::kMustMatch;

  bool operator==(const FieldDifference&) const = default;
};

// The names that `vary` takes besides those of single fields: "libtorch" (version, build, flags,
// linked libraries, its own libraries and those that only one side loads), "compiler" (with the
// flags, and libraries that only one side loads), "valgrind", "cpu" (features and the capability
// chosen by them), "worker", "libraries" (all loaded libraries).
const std::vector<std::string>& vary_groups();

// Finds the fields that differ: first those that must match, then in the order of the fingerprints.
// If both fingerprints are empty there is one difference, "fingerprint", that must match. An error
// if a name in `vary` is neither a group nor a field of the two.
Expected<std::vector<FieldDifference>> check_fingerprints(const Fingerprint& before,
                                                          const Fingerprint& after,
                                                          const std::vector<std::string>& vary);

// An error if a name is wrong before the other side is known: it is neither a group, nor a field of
// this side, nor the name of a library.
Expected<void> check_vary(const std::vector<std::string>& vary, const Fingerprint& before);

struct MeasuredAs {
  bool is_timed = false;  // false: counted
  Language language = Language::kCpp;
};

// Selects the fields that determine such a value: runs in which they are equal may be compared, and
// give equal counts of equal code. Without those that `vary` frees.
Expected<Fingerprint::Entries> select_fields(const Fingerprint& fingerprint, const MeasuredAs& as,
                                             const std::vector<std::string>& vary);

// Suggests the fewest names for `vary` that would free all fields that must match.
std::vector<std::string> suggest_vary(const std::vector<FieldDifference>& differences);

// True if no difference is in a field that must match.
bool is_comparable(const std::vector<FieldDifference>& differences);

// "compiler: g++ 12.2.0, then clang 14.0.6"; safe to show.
std::string to_string(const FieldDifference& difference);

// Lists a line for each difference of this class, for people. Of many libraries those of C and C++
// come first, then LibTorch's; the last line tells how many are left out.
std::vector<std::string> list_differences(const std::vector<FieldDifference>& differences,
                                          FieldClass field_class);

}  // namespace instr
