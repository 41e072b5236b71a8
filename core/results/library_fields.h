// The fields of a fingerprint that say which libraries were loaded, one for each: "library
// libc.so.6", "libtorch_library libc10.so" for those that come with LibTorch, "timed_library ..."
// for the worker that times. A LibTorch that is linked with much of a system has hundreds.
#pragma once

#include <string_view>

namespace instr {

inline constexpr std::string_view kOfTimes = "timed_";
inline constexpr std::string_view kLibrary = "library ";
inline constexpr std::string_view kTorchLibrary = "libtorch_library ";
inline constexpr std::string_view kLibraries = "libraries";  // all of them

inline std::string_view without_times(std::string_view name) {
  return name.starts_with(kOfTimes) ? name.substr(kOfTimes.size()) : name;
}

inline bool is_library_field(std::string_view name) {
  name = without_times(name);
  return name.starts_with(kLibrary) || name.starts_with(kTorchLibrary);
}

}  // namespace instr
