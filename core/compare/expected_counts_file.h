// The text of a file of expected counts, in one of two forms. This project's, with a header:
//   key,metric,expected,margin
//   matmul/mm/n=64/eager/forward/t1/cpu,instructions,12345,0.5%|+10
// and PyTorch's (benchmarks/dynamo/pr_time_benchmarks), without one; its margin is relative:
//   add_loop_eager,compile_time_instruction_count,3862000000,0.1
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/source_text.h"
#include "core/compare/csv_reader.h"
#include "core/definitions/limit.h"

namespace instr {

struct ExpectedCount {
  std::string comment;  // the comment above the line of the file
  std::string key;
  std::string metric = {};
  double value = 0;  // finite, not negative
  std::optional<Limit> margin = {};
  // Bytes of the file: where the line begins, and the value. 0 for a new count.
  std::size_t begin = 0;
  std::size_t value_begin = 0;
  std::size_t value_end = 0;
};

using ExpectedFile = CsvFile<ExpectedCount>;

// Keys by the name that PyTorch's form has for them.
using KeysByName = std::map<std::string, std::string>;

bool is_pytorch_form(const SourceText& source);

// Returns all errors of the file, in its order. A name that is not in `keys` is a key itself.
tl::expected<ExpectedFile, Errors> read_expected_file(const SourceText& source,
                                                      const KeysByName& keys);

// Returns this project's form, sorted by key and metric. Comments keep their places.
std::string write_counts(ExpectedFile file);

// Returns PyTorch's form: `source`, which was read as `before`, with the values of `after`, without
// the lines that `after` lacks, and with new counts at the end. All other bytes stay.
std::string write_pytorch_counts(const SourceText& source, const ExpectedFile& before,
                                 const ExpectedFile& after);

}  // namespace instr
