// Everything that may legitimately change a count, by name: runs with equal fingerprints must give
// equal counts.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

}  // namespace instr
