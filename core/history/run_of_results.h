// A results file as a run to be recorded.
#pragma once

#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/compare/compare.h"
#include "core/history/record.h"

namespace instr {

// Everything that was counted or timed. An error if the results do not say what they were measured
// with, or are older than the commit, unless that is trusted: its author had not written it yet.
Expected<HistoryRun> run_of(const ResultSet& results, const Commit& commit,
                            const std::string& branch, const std::vector<std::string>& vary,
                            bool is_commit_trusted);

}  // namespace instr
