// The profiles of a results file, beside it in FILE.profiles.jsonl.gz: functions, call trees,
// costs of lines and requests to a device, which are much larger than the numbers and mostly not
// read.
//
//   {"profiles_schema":1}
//   {"schema":3,"program":"instr_bench",...}                    the first line of FILE, unchanged
//   {"first":0,"names":[["at::mm(...)","libtorch_cpu.so"],...]} functions with their libraries,
//                                                               numbered from `first` on
//   {"key":"matmul/mm/...","functions":[...],...}               a measurement, by these numbers
//                                                               (core/results/profile_json.h)
//   {"end":{"measurements":2}}                                  the end of a complete file
//
// A name is written once, before the first measurement that uses it. Each measurement's lines are a
// gzip member: concatenated members are a gzip file (`zcat` shows the lines), a kill truncates only
// the last measurement, and each can be read without the others.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/error.h"
#include "core/results/measurement.h"
#include "core/results/results_file.h"

namespace instr {

// The path of the profiles of the results `file`.
fs::path profiles_path(const fs::path& file);

// Makes the lines of a profiles file, in their order.
class ProfilesFormatter {
 public:
  // `header`: the first line of the results file, without its newline.
  static std::string start(std::string_view header);

  // Makes the lines of a measurement; "" if it has no profile.
  std::string next(const std::string& key, const Counted& counted);

  // Makes the line after the last measurement.
  std::string end() const { return end_line(measurements_) + "\n"; }

  bool is_empty() const { return measurements_ == 0; }

 private:
  std::unordered_map<std::string, std::size_t> numbers_;  // names of functions and libraries
  std::size_t measurements_ = 0;
};

// Readers of a measurement's values by its key; an unknown key has an empty value. Not to be called
// from two threads at once, nor two readers of one file.
using FunctionsOf = std::function<Expected<std::vector<FunctionCost>>(const std::string& key)>;
template <class Value>
using ValuesOf = std::function<Expected<std::shared_ptr<const Value>>(const std::string& key)>;
using CallTreesOf = ValuesOf<CallTree>;
using LinesOf = ValuesOf<LineCosts>;
using DeviceEventsOf = std::function<Expected<std::vector<DeviceEvent>>(const std::string& key)>;

struct ProfileReaders {
  FunctionsOf functions;  // greatest cost first
  CallTreesOf call_trees;
  LinesOf lines;
  DeviceEventsOf device_events;
};

// Opens the profiles of the results that were read from `file`; without a profiles file, all values
// are empty. Each count must be the sum of its functions, which is checked here, and of its call
// tree, which is checked when that is read; values are parsed on demand. The errors name the line:
// another schema, written for other results, damaged, or truncated. If that is allowed, the
// complete measurements can be read.
Expected<ProfileReaders> read_profiles(const fs::path& file, const Results& results,
                                       Incomplete incomplete = Incomplete::kRefused);

}  // namespace instr
