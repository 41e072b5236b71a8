// The reference of a comparison: a baseline or expected counts, found and read first, and compared
// once there are results.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/compare/compare.h"
#include "core/compare/limits_file.h"
#include "core/definitions/select.h"
#include "core/results/fingerprint_check.h"
#include "core/results/result_set.h"

namespace instr {

// The reference and the limits of a comparison.
struct GateOptions {
  std::optional<std::string> baseline = {};          // a name or a file
  std::optional<std::filesystem::path> expect = {};  // a file of expected counts
  bool update_expected = false;
  std::optional<std::filesystem::path> limits_file = {};
  std::optional<std::filesystem::path> base_limits_file = {};  // that file as of the base
  std::optional<std::filesystem::path> accepted = {};          // nothing: the project's
  std::vector<std::string> vary = {};  // fingerprint fields that are under test
  bool allow_missing_shards = false;
  Incomplete incomplete = Incomplete::kRefused;
  CompareOptions compare = {};

  // Whether the results are compared with something.
  bool has_reference() const { return baseline || (expect && !update_expected); }
};

// The earlier side of a comparison.
struct Reference {
  ResultSet set;
  // Expected counts: they do not come from a run, so there is no fingerprint to compare.
  bool is_expected = false;
  std::map<std::string, Limits> margins;  // of expected counts, by key
};

// A baseline's name or a results file.
tl::expected<Reference, Errors> read_reference(const std::string& name_or_file,
                                               Incomplete incomplete);

// The reference named by --baseline or --expect, restricted to what a run of these variants
// measures; nothing if there is neither, or if the expected counts are to be written.
tl::expected<std::optional<Reference>, Errors> find_reference(const GateOptions& gate,
                                                              const Selection& selection,
                                                              const std::vector<Variant>& variants);

// An error if the results are of one shard and `after` is not, unless that is allowed: all
// benchmarks of the other shards would pass as new.
Expected<void> check_shard(const Reference& before, const std::optional<Shard>& after,
                           Incomplete incomplete);

// The limits, including those of --limits.
struct Gate {
  CompareOptions compare;
  LimitsFile limits_file;
  std::optional<LimitsFile> base_limits_file;
};

tl::expected<Gate, Errors> open_gate(const GateOptions& options);

// Checks that --update-expected can write its file, and can parse it.
tl::expected<void, Errors> check_update(const GateOptions& options);

// The fields in which the two differ. An error that names them all if one of them must match:
// counts would differ for this reason alone.
Expected<std::vector<FieldDifference>> check_comparable(const Reference& before,
                                                        const ResultsHeader& after,
                                                        const std::vector<std::string>& vary);

// Compares within the limits; both sides have been checked to be comparable. A pattern of the
// limits file that matches no key is a problem that warns; an error if neither side has a metric
// for which there is a hard limit.
Expected<Comparison> compare_with(const Reference& before, const ResultSet& after,
                                  const Gate& gate);

}  // namespace instr
