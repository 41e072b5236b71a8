// Google Benchmark's JSON as a run to be recorded: its times, as samples.
#pragma once

#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/history/record.h"

namespace instr {

// Whether a file begins as that does.
bool is_gbench(std::string_view bytes);

// Of each benchmark the wall and the CPU time, medians of its repetitions, in nanoseconds. Those
// that failed, and aggregates, are left out. `bytes` is the document, `name` is for messages.
Expected<HistoryRun> run_of_gbench(std::string_view bytes, const std::string& name,
                                   const Commit& commit, const std::string& branch,
                                   bool is_commit_trusted);

}  // namespace instr
