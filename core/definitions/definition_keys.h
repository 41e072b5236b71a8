// Every key that a definition file may have, and the shape of its value: the one table that the
// loader checks against, and with which a test compares tools/definition.schema.json.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace instr {

enum class Shape {
  kString,
  kStrings,  // a string or a list of strings
  kStringList,
  kInteger,
  kIntegers,  // an integer or a list of integers
  kNumber,
  kBoolean,
  kStringOrTrue,
  kTable,
  kTables,        // a list of tables
  kStringTable,   // name = string
  kStringsTable,  // name = string or list of strings
  kDefineTable,   // name = string or integer
  kMatrix,        // name = list of integers, floats, strings, booleans
};

const char* describe(Shape shape);  // "a string or a list of strings"

struct Key {
  std::string_view name;
  Shape shape;
  std::string_view example;
};

using Keys = std::span<const Key>;

Keys file_keys();
Keys setup_keys();      // of [setups.NAME]
Keys benchmark_keys();  // of [[benchmark]]
Keys build_keys();      // of [build]
Keys limit_keys();      // of `limit`
Keys tolerance_keys();  // of `tolerance`

std::vector<std::string> names_of(Keys keys);

const std::vector<std::string>& known_devices();
const std::vector<std::string>& known_reductions();  // names of tensor member functions

inline constexpr int kDefinitionSchema = 1;
inline constexpr int kMaxThreads = 1024;
inline constexpr int kMaxIterations = 1'000'000'000;
inline constexpr double kMostSeconds = 1e6;  // of any duration given: eleven days

// Whether a number can be a duration; NaN cannot.
inline constexpr bool is_time(double seconds) { return seconds > 0 && seconds <= kMostSeconds; }

}  // namespace instr
