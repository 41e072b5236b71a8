// What a run or a results file is held against: a baseline or expected counts, found and read first,
// and compared once there is something to compare.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "core/compare.h"
#include "core/error.h"
#include "core/fingerprint_check.h"
#include "core/options.h"

namespace instr {

// A results file with its functions. `name`: for messages.
Expected<ResultSet> read_result_set(const std::filesystem::path& file, std::string name);

// Measurements in memory, with the functions they hold.
ResultSet result_set_of(std::string name, ResultsHeader header,
                        std::vector<Measurement> measurements);

// Without the measurements that are not wanted.
ResultSet only(ResultSet set, const std::function<bool(const Variant&)>& wanted);

// What `gate` names; nothing where it names nothing.
Expected<std::optional<ResultSet>> find_reference(const GateOptions& gate);

// The fields in which the two differ. An error that names them all where one must match: counts
// would differ for this reason alone.
Expected<std::vector<FieldDifference>> check_comparable(const ResultsHeader& before,
                                                        const ResultsHeader& after,
                                                        const std::vector<std::string>& vary);

// Compares within the limits of `gate`; the fingerprints are checked already.
Expected<Comparison> hold_against(const ResultSet& before, const ResultSet& after,
                                  const GateOptions& gate);

}  // namespace instr
