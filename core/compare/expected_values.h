// Reads and updates the file of --expect: committed counts with margins, which may be empty or
// omitted (core/compare/expected_values.h).
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/source_text.h"
#include "core/compare/compare.h"
#include "core/definitions/limit.h"
#include "core/results/measurement.h"
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
tl::expected<ExpectedUpdate, Errors> update_expected_file(
    const std::filesystem::path& file, const std::vector<Measurement>& measurements,
    const IsSelected& is_selected);

// The file of --expect-codes: the committed verification code of each experiment.
//   key,code
//   layers/GRUCell/frozen/forward/t1/cpu,FAIL

struct ExpectedCode {
  std::string key;
  VerificationCode code = VerificationCode::kPass;
  std::string comment = {};  // the comment above the key's line
};

// In the order of the file. All errors of the file.
tl::expected<std::vector<ExpectedCode>, Errors> parse_expected_codes(const SourceText& source);

struct CodeDifference {
  std::string key;
  VerificationCode expected = VerificationCode::kPass;
  VerificationCode code = VerificationCode::kPass;
  std::string reason;  // the reason for `code`
};

struct CodeComparison {
  std::vector<CodeDifference> worse;   // neither the expected code nor PASS
  std::vector<CodeDifference> better;  // PASS instead of the expected code
  std::vector<std::string> missing;    // expected and selected, but no experiment
  std::vector<std::string> failing;    // failures as expected
  std::size_t same = 0;
  std::size_t fresh = 0;  // experiments that the file does not have
};

// Compares the codes. Skipped experiments have none; eager has EAGER_FAILED if it failed although
// the others were verified against it.
CodeComparison compare_codes(const std::vector<ExpectedCode>& expected,
                             std::span<const Measurement> records, const IsSelected& is_selected);

// Returns the file with the codes of these experiments, sorted by key. Comments stay above the same
// line, or below the last one. A selected key without an experiment is removed.
tl::expected<ExpectedUpdate, Errors> update_expected_codes(const SourceText& source,
                                                           std::span<const Measurement> records,
                                                           const IsSelected& is_selected);

// --expect-codes: the file to compare verification codes with, or to write them to.
struct CodesOptions {
  std::optional<fs::path> file = {};
  bool update = false;
};

// Reads the expected codes before the run, so that a malformed file does not cost one. Empty
// without a file; if the file is to be written, it may be missing.
tl::expected<std::vector<ExpectedCode>, Errors> read_codes_to_expect(const CodesOptions& options);

struct CodesVerdict {
  std::string text = {};                         // lines to print after the run
  bool is_worse = false;                         // the run fails
  std::set<std::string> expected_failures = {};  // keys of failures that do not fail the run
};

// Compares the codes with the expected ones, or writes them to the file.
tl::expected<CodesVerdict, Errors> judge_codes(const CodesOptions& options,
                                               const std::vector<ExpectedCode>& expected,
                                               std::span<const Measurement> records,
                                               const IsSelected& is_selected);

}  // namespace instr
