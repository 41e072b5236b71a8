// The file of --expect-codes: the committed verification code of each experiment.
//   key,code
//   layers/GRUCell/frozen/forward/t1/cpu,FAIL
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/source_text.h"
#include "core/compare/expected_counts.h"
#include "core/results/measurement.h"
#include "core/results/verification.h"

namespace instr {

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
