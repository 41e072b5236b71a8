// The functions of a results file, beside it in FILE.functions.jsonl.gz (core/results/side_file.h):
// the self cost and the calls of each function in each measurement, and the calls between them. The
// only code that knows the format:
//
//   {"key":"matmul/mm/...","functions":[[0,1200.5,2],...]}      number, instructions and calls per
//                                                               iteration, greatest cost first
//   {"key":"...","events":["D1mr","Dr"],"functions":[[0,1200.5,2,0.5,310],...]}
//     with simulated caches or branches: then the events, without zeros at the end
//   {"key":"...","functions":[...],"calls":[[0,1,2,1100],...]}
//     caller and callee, by their indices in "functions", the calls and their inclusive
//     instructions
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/results/measurement.h"
#include "core/results/side_file.h"

namespace instr {

// The path of the functions of a results file.
fs::path functions_path(const fs::path& file);

// Makes the lines of a measurement.
std::string next_functions(SideLines& lines, const std::string& key,
                           const std::vector<FunctionCost>& functions);

// Reads the functions of a key, greatest cost first; empty if they are not known. Not to be called
// from two threads at once.
using FunctionsOf = std::function<Expected<std::vector<FunctionCost>>(const std::string& key)>;

// The instructions of all functions of a measurement.
class FunctionsSum {
 public:
  void add(double ir);
  double total() const { return total_; }
  bool is_empty() const { return functions_ == 0; }

  // True if `ir` is the total, up to the rounding of such a sum.
  bool is(double ir) const;

 private:
  std::size_t functions_ = 0;
  double total_ = 0;
  double size_ = 0;  // the sum of the absolute values
};

// Called for each measurement that has functions. Reading the file ends with its error.
using OnSum = std::function<Expected<void>(const std::string& key, const FunctionsSum& sum)>;

// Opens the functions of the results file `file`, whose first line, without its newline, is
// `header`; without a functions file, no functions are known. Errors: those of SideFile::index(). A
// measurement's line is parsed on demand, unless `on_sum` is given.
Expected<FunctionsOf> open_functions(const fs::path& file, const std::string& header,
                                     Incomplete incomplete = Incomplete::kRefused,
                                     const OnSum& on_sum = nullptr);

// Parses the bytes of a functions file; `name` is for messages.
Expected<FunctionsOf> parse_functions(std::string bytes, const std::string& header,
                                      const std::string& name,
                                      Incomplete incomplete = Incomplete::kRefused,
                                      const SideLimits& limits = {});

}  // namespace instr
