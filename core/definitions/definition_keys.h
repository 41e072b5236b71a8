// Every key that a definition file may have, with the shape of its value. The loader checks against
// this table, and the JSON Schema for editors is generated from it.
#pragma once

#include <limits>
#include <nlohmann/json_fwd.hpp>
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
  kNamedTables,   // name = table
  kStringTable,   // name = string
  kStringsTable,  // name = string or list of strings
  kDefineTable,   // name = string or integer
  kMatrix,        // name = list of integers, floats, strings, booleans
};

struct Range {
  int min = std::numeric_limits<int>::min();
  int max = std::numeric_limits<int>::max();

  bool operator==(const Range&) const = default;
};

struct Key;
using Keys = std::span<const Key>;

struct Key {
  std::string_view name;
  Shape shape;
  std::string_view example;
  std::string_view description = {};  // shown by editors
  bool is_required = false;
  Keys (*members)() = nullptr;                           // keys of its tables; null: any
  const std::vector<std::string>& (*words)() = nullptr;  // allowed strings; null: any
  Range range = {};                                      // the range of its integers
};

Keys file_keys();
Keys setup_keys();      // keys of [setups.NAME]
Keys benchmark_keys();  // keys of [[benchmark]]
Keys build_keys();      // keys of [build]
Keys backend_keys();    // keys of [[backend]]
Keys setting_keys();    // keys of [[setting]]
Keys limit_keys();      // keys of `limit`
Keys tolerance_keys();  // keys of `tolerance`

std::vector<std::string> names_of(Keys keys);

const std::vector<std::string>& known_devices();
const std::vector<std::string>& known_reductions();  // names of tensor member functions

inline constexpr int kDefinitionSchema = 1;
inline constexpr int kMaxThreads = 1024;
inline constexpr int kMaxIterations = 1'000'000'000;
inline constexpr double kMaxSeconds = 1e6;  // the maximum of any duration: eleven days

// Returns true for a number that can be a duration; NaN cannot.
inline constexpr bool is_time(double seconds) { return seconds > 0 && seconds <= kMaxSeconds; }

// The JSON Schema of definition files, for completion and checks in editors.

// Describes each key of the tables in definition_keys.h, with the type of its value. Only the
// loader checks rules about several keys, and the syntax of texts.
nlohmann::ordered_json definition_schema();

}  // namespace instr
