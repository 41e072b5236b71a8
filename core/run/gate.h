// The gate: the reference of a comparison (a baseline or expected counts), the limits, and what is
// checked before results may be compared with it.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/compare/compare.h"
#include "core/compare/limits_file.h"
#include "core/definitions/select.h"
#include "core/results/fingerprint.h"
#include "core/results/result_set.h"

namespace instr {

// The reference and the limits of a comparison.
struct GateOptions {
  std::optional<std::string> baseline = {};          // a name or a file
  std::optional<std::filesystem::path> expect = {};  // a file of expected counts
  bool update_expected = false;
  std::optional<std::filesystem::path> limits_file = {};
  std::optional<std::filesystem::path> base_limits_file = {};  // the base's version of it
  std::optional<std::filesystem::path> accepted = {};          // absent: the project's
  std::vector<std::string> vary = {};  // fingerprint fields that are under test
  bool allow_missing_shards = false;
  Incomplete incomplete = Incomplete::kRefused;
  CompareOptions compare = {};

  bool has_reference() const { return baseline || (expect && !update_expected); }
};

// The earlier side of a comparison.
struct Reference {
  ResultSet set;
  // Expected counts have no fingerprint to compare.
  bool is_expected = false;
  std::map<std::string, Limits> margins;  // key of expected counts -> limits
  // Counts of a release of torch that come with the product: LibTorch and its libraries may differ,
  // and benchmarks that a run does not have are not missing.
  bool is_release = false;
};

// Reads a baseline, by its name, or a results file, or `release:VERSION`: the counts of a release
// of torch that come with the product.
tl::expected<Reference, Errors> read_reference(const std::string& name_or_file,
                                               Incomplete incomplete);

// Reads the reference named by --baseline or --expect, restricted to the variants of a run; nothing
// if there is neither, or if the expected counts are to be written.
tl::expected<std::optional<Reference>, Errors> find_reference(const GateOptions& gate,
                                                              const Selection& selection,
                                                              const std::vector<Variant>& variants);

// Refuses results of one shard if `after` is not that shard, unless incomplete ones are allowed:
// the benchmarks of the other shards would all be new.
Expected<void> check_shard(const Reference& before, const std::optional<Shard>& after,
                           Incomplete incomplete);

struct Gate {
  CompareOptions compare;
  LimitsFile limits_file;
  std::optional<LimitsFile> base_limits_file;
};

// Reads the files of limits and accepted changes.
tl::expected<Gate, Errors> open_gate(const GateOptions& options);

// Checks that --update-expected can parse and write its file.
tl::expected<void, Errors> check_update(const GateOptions& options);

// Returns the fields in which the two fingerprints differ; an error that names them all if one of
// them must match, since counts would differ for this reason alone.
Expected<std::vector<FieldDifference>> check_comparable(const Reference& before,
                                                        const ResultsHeader& after,
                                                        const std::vector<std::string>& vary);

// Compares two sides that have been checked to be comparable. A pattern of the limits file that
// matches no key is a problem that warns; a hard limit of a metric that neither side has is an
// error.
Expected<Comparison> compare_with(const Reference& before, const ResultSet& after,
                                  const Gate& gate);

}  // namespace instr
