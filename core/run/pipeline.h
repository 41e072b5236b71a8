// The stages of a run together: definitions to variants, variants to measurements.
#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/run/config.h"
#include "core/run/progress.h"
#include "core/run/recorder.h"
#include "core/run/session.h"

namespace instr {

// The files and folders that definitions come from.
std::vector<std::filesystem::path> definition_paths(const PlanConfig& config);

// Loads definitions and expands them to the selected variants. Errors of all files.
tl::expected<std::vector<Variant>, Errors> plan(const PlanConfig& config);

// The folders for files that are written besides the results.
Expected<void> make_folders(const MeasureConfig& config);

// Events that only show the progress.
SessionEvents progress_events(Progress& progress);

// The configuration of a run: how to measure, which shard; for the record, the command line and the
// definitions, whose commit it is (none: it is not asked for).
struct RunConfig {
  MeasureConfig measure = {};
  std::optional<Shard> shard = {};
  std::vector<std::string> command = {};
  std::vector<std::filesystem::path> definitions = {};
};

// Checks the header before anything is measured; an error ends the run.
using HeaderCheck = std::function<Expected<void>(const ResultsHeader& header)>;

// Opens a session, and compiles and counts all that it can; the rest (Session::time, inspect) is up
// to the caller. The error is one of the setup, or of `check`. If `stop` came first, it is
// incomplete.
Expected<Session> count_all(const RunConfig& config, const std::vector<Variant>& variants,
                            Progress& progress, Recorder& recorder, std::stop_token stop,
                            const HeaderCheck& check = {});

struct MeasureEnd {
  bool is_finished = false;    // else `stop` came first
  std::size_t not_dumped = 0;  // variants that --dump could not inspect; each was reported
};

// Compiles, counts, times and verifies; measurements go to the recorder as they end.
Expected<MeasureEnd> measure_all(const RunConfig& config, const std::vector<Variant>& variants,
                                 Progress& progress, Recorder& recorder, std::stop_token stop,
                                 const HeaderCheck& check = {});

}  // namespace instr
