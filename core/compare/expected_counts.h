// Reads and updates the file of --expect: committed counts with margins, which may be empty or
// omitted (core/compare/expected_counts.h).
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/source_text.h"
#include "core/compare/compare.h"
#include "core/compare/csv_reader.h"
#include "core/definitions/limit.h"
#include "core/results/results_file.h"

namespace instr {

// A baseline for compare(), and the CompareOptions::by_key that belongs to it.
struct ExpectedCounts {
  // Steady counts with only the expected metrics; the header has no fingerprint. Variants are
  // derived from their keys.
  Results baseline;
  // By key: an expected metric with a margin has that as its only limit, an expected metric without
  // a margin has its usual limits, and a metric that is not expected has none.
  std::map<std::string, Limits> limits;
};

// Returns all errors of the file, in its order. Errors include a file without a count, and a name
// that does not end in .csv. PyTorch's form may name a benchmark with a single variant by its
// label: `variants` are those of the run.
tl::expected<ExpectedCounts, Errors> read_expected_counts(const std::filesystem::path& file,
                                                          std::span<const Variant> variants);

tl::expected<ExpectedCounts, Errors> parse_expected_counts(const SourceText& source,
                                                           std::span<const Variant> variants = {});

// Checks a file that is about to be updated, and so may be empty.
tl::expected<void, Errors> check_expected_counts(const SourceText& source);

struct ExpectedUpdate {
  std::string text;
  std::size_t changed = 0;  // numbers
  std::size_t added = 0;    // keys
  std::size_t removed = 0;  // keys
};

// Returns true if the run selects that key.
using IsSelected = std::function<bool(const std::string& key)>;

// Returns the file with the measured numbers, in its form.
// - A new key gets the metrics of the other keys, or all measured metrics if there are no others.
// - A key that was selected but not measured is removed.
// - A number stays if its metric was not measured, or if its measurement failed, was skipped or is
//   not exact (not steady or not gated).
// An empty text is a new file.
tl::expected<ExpectedUpdate, Errors> update_expected_counts(
    const SourceText& source, const std::vector<Measurement>& measurements,
    const IsSelected& is_selected);

// Replaces the file with its update in one step, or creates it. A file that needs no change is not
// written.
using MakeUpdate = std::function<tl::expected<ExpectedUpdate, Errors>(const SourceText& source)>;
tl::expected<ExpectedUpdate, Errors> update_in_place(const std::filesystem::path& file,
                                                     const MakeUpdate& make_update);

tl::expected<ExpectedUpdate, Errors> update_expected_file(
    const std::filesystem::path& file, const std::vector<Measurement>& measurements,
    const IsSelected& is_selected);

// The text of a file of expected counts, in one of two forms. This project's, with a header:
//   key,metric,expected,margin
//   matmul/mm/n=64/eager/forward/t1/cpu,instructions,12345,0.5%|+10
// and PyTorch's (benchmarks/dynamo/pr_time_benchmarks), without one; its margin is relative:
//   add_loop_eager,compile_time_instruction_count,3862000000,0.1

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
