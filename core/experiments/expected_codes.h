// The file of --expect-codes: the committed verification code of each experiment, and its update.
//   key,code
//   layers/GRUCell/frozen/forward/t1/cpu,FAIL
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/source_text.h"
#include "core/compare/expected_counts.h"
#include "core/experiments/experiment_record.h"
#include "core/results/verification.h"

namespace instr {

struct ExpectedCode {
  std::string key;
  VerificationCode code = VerificationCode::kPass;
  std::string comment = {};  // above its line
};

// In the order written; all errors of the file.
tl::expected<std::vector<ExpectedCode>, Errors> parse_expected_codes(const SourceText& source);

// An error if there is no code in it.
tl::expected<std::vector<ExpectedCode>, Errors> read_expected_codes(
    const std::filesystem::path& file);

struct CodeDifference {
  std::string key;
  VerificationCode expected = VerificationCode::kPass;
  VerificationCode code = VerificationCode::kPass;
  std::string reason;  // for that code
};

struct CodeComparison {
  std::vector<CodeDifference> worse;   // neither the expected one nor PASS
  std::vector<CodeDifference> better;  // PASS where another is expected
  std::vector<std::string> missing;    // expected and selected, but no experiment
  std::vector<std::string> failing;    // failures as expected
  std::size_t same = 0;
  std::size_t fresh = 0;  // experiments that the file does not have
};

// Eager and what was skipped have no code to compare.
CodeComparison compare_codes(const std::vector<ExpectedCode>& expected,
                             std::span<const ExperimentRecord> records,
                             const IsSelected& is_selected);

// The file with the codes of these experiments, sorted by key. Comments stay above the line that
// they were above, and below the last one. A new key is added; one that was selected but is not an
// experiment is removed.
tl::expected<ExpectedUpdate, Errors> update_expected_codes(
    const SourceText& source, std::span<const ExperimentRecord> records,
    const IsSelected& is_selected);

// Updates the file in one step, or creates it. One that needs no change is not written.
tl::expected<ExpectedUpdate, Errors> update_expected_codes_file(
    const std::filesystem::path& file, std::span<const ExperimentRecord> records,
    const IsSelected& is_selected);

}  // namespace instr
