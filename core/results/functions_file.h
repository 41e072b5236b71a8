// The functions of a results file, beside it in FILE.functions.jsonl.gz: the self cost and the
// calls of each, for each measurement. The only code that knows the format:
//
//   {"functions_schema":3}
//   {"schema":1,"program":"instr_bench",...}                    the first line of FILE, as it is
//   there
//   {"first":0,"names":[["at::mm(...)","libtorch_cpu.so"],...]}  function and library, numbered on
//                                                               from `first`
//   {"key":"matmul/mm/...","functions":[[0,1200.5,2],...]}      number, instructions and calls for
//                                                               each iteration, greatest cost first
//   {"key":"...","events":["D1mr","Dr"],"functions":[[0,1200.5,2,0.5,310],...]}
//     where caches or branches were simulated: those events behind, without the zeros at the end
//   {"end":{"measurements":2}}                                  if all are there
//
// A name is written once, before the first measurement that uses it. Each measurement's lines are a
// gzip member of their own: concatenated members are a gzip file (`zcat` shows the lines), a kill
// truncates only one measurement, and one can be read without the others.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/error.h"
#include "core/values/measurement.h"

namespace instr {

// How to treat results or functions of an unfinished run.
enum class Incomplete { kRefused, kAllowed };

inline constexpr int kFunctionsSchema = 3;

// The path of the functions of a results file.
std::filesystem::path functions_path(const std::filesystem::path& file);

// Makes the lines of a functions file, in their order.
class FunctionLines {
 public:
  // `header`: the first line of the results file, without its newline.
  static std::string start(std::string_view header);

  std::string next(const std::string& key, const std::vector<FunctionCost>& functions);

  // After the last one.
  std::string end() const;

 private:
  std::unordered_map<std::string, std::size_t> numbers_;
  std::size_t measurements_ = 0;
};

// The functions of a key, greatest cost first; empty if none are known. Not to be called from
// two threads at once.
using FunctionsOf = std::function<Expected<std::vector<FunctionCost>>(const std::string& key)>;

// The instructions of all of them.
double total_of(const std::vector<FunctionCost>& functions);

// Whether `ir` is that total, up to the rounding of such a sum.
bool is_sum_of(double ir, const std::vector<FunctionCost>& functions);

// The functions of the results file `file`, whose first line, without its newline, is `header`;
// none if it has no functions file. Errors, with the file and its line: not a functions file,
// another schema, written for another results file, damaged, or truncated, unless that is allowed:
// then the complete measurements are there. A measurement's line is parsed on demand.
Expected<FunctionsOf> open_functions(const std::filesystem::path& file, const std::string& header,
                                     Incomplete incomplete = Incomplete::kRefused);

// More than instr_bench ever writes: a small file may decompress to any size.
struct FunctionLimits {
  // Bytes of a member's text. A measurement's is some kilobytes; in a recompressed file all of them
  // are one member.
  std::size_t member = std::size_t{128} << 20;
  std::size_t text = std::size_t{2} << 30;  // of all members
  std::size_t line = std::size_t{16} << 20;
  std::size_t names = 1'000'000;
};

// The same on the bytes of a functions file; `name` is for messages.
Expected<FunctionsOf> parse_functions(std::string bytes, const std::string& header,
                                      const std::string& name,
                                      Incomplete incomplete = Incomplete::kRefused,
                                      const FunctionLimits& limits = {});

}  // namespace instr
