// The stages of a run: definitions to variants, variants to measurements.
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
#include "core/run/resume.h"
#include "core/run/session.h"

namespace instr {

// Returns the files and folders that definitions come from.
std::vector<std::filesystem::path> definition_paths(const PlanConfig& config);

// Loads definitions and expands them to the selected variants. Errors are those of all files.
tl::expected<std::vector<Variant>, Errors> plan(const PlanConfig& config);

// Makes the folders for files that are written besides the results.
Expected<void> make_folders(const MeasureConfig& config);

// Returns events that only show the progress.
SessionEvents progress_events(Progress& progress);

// Returns events that show the progress and record each measurement. `complete`: adds to it first.
SessionEvents recording_events(Progress& progress, Recorder& recorder,
                               std::function<void(Measurement&)> complete = {});

struct RunConfig {
  MeasureConfig measure = {};
  // For the header of the results:
  std::optional<Shard> shard = {};
  std::vector<std::string> command = {};                // the command line
  std::vector<std::filesystem::path> definitions = {};  // none: their commit is not recorded
  // The results file to go on with: what it has is not measured again.
  std::optional<std::filesystem::path> resumed = {};
};

// Describes a session for these variants.
Expected<RunIdentity> make_identity(const MeasureConfig& config, Session& session,
                                    const std::vector<Variant>& variants, std::stop_token stop);

// Makes find_change() of these variants, which must outlive it, like `identity`.
FindChange make_find_change(const std::vector<Variant>& variants, const RunIdentity& identity);

// Makes the header of the results. It names a commit only if that contains every definition and
// source of the results.
ResultsHeader make_header(const RunConfig& config, const std::vector<Variant>& variants,
                          Fingerprint fingerprint);

// Checks the header as soon as it is known; an error ends the run.
using HeaderCheck = std::function<Expected<void>(const ResultsHeader& header)>;

// Goes on with the results of `file`: the recorder takes those that are used again and opens the
// file with all that stay. Reports what is used, and why others are not. `header`: that of the new
// results. Returns the variants to measure.
Expected<std::vector<Variant>> resume(const fs::path& file, const EarlierResults& earlier,
                                      const std::vector<Variant>& variants, ResultsHeader header,
                                      Progress& progress, Recorder& recorder,
                                      const HeaderCheck& check);

// Opens a session, and compiles and counts the variants; Session::time and inspect are up to the
// caller. The error is one of the setup, or of `check`. The counts are incomplete if `stop` was
// requested.
Expected<std::unique_ptr<Session>> count_all(const RunConfig& config,
                                             const std::vector<Variant>& variants,
                                             Progress& progress, Recorder& recorder,
                                             std::stop_token stop, const HeaderCheck& check = {});

struct MeasureEnd {
  bool is_finished = false;    // false: `stop` was requested first
  std::size_t not_dumped = 0;  // variants that --dump could not inspect; each was reported
  std::set<std::filesystem::path> files_read = {};      // read by compilers (Session::files_read())
  std::vector<std::filesystem::path> known_files = {};  // folders of LibTorch and of our own files
};

// Compiles, counts, times and verifies; the recorder gets each measurement when it ends.
Expected<MeasureEnd> measure_all(const RunConfig& config, const std::vector<Variant>& variants,
                                 Progress& progress, Recorder& recorder, std::stop_token stop,
                                 const HeaderCheck& check = {});

}  // namespace instr
