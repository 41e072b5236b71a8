// The stages that every command which measures goes through: definitions to the variants wanted,
// and these to measurements.
#pragma once

#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/definitions/variant.h"
#include "core/report/report.h"
#include "core/results/recorder.h"
#include "core/run/options.h"
#include "core/run/progress.h"
#include "core/run/session.h"
#include "core/values/measurement.h"

namespace instr {

// The files and folders of --definitions; without it the standard set.
std::vector<std::filesystem::path> definition_paths(const Options& options);

// Load, expand, select.
tl::expected<std::vector<Variant>, Errors> plan(const Options& options);

ProgressOptions progress_options(const Options& options);

// Events of a session that the progress line shows.
SessionEvents progress_events(Progress& progress);

// What --format, --metrics and the terminal say of a table.
ReportOptions report_options(const Options& options);

// Told what a run is measured with as soon as that is known; an error gives the run up.
using HeaderCheck = std::function<Expected<void>(const ResultsHeader&)>;

// Opens a session that has compiled and counted all that it can; the rest (Session::time, inspect)
// is the caller's. The error is one of the set-up, or of `check`. Where `stop` came first it is not
// done.
Expected<Session> count_all(const Options& options, const std::vector<std::string>& command,
                            const std::vector<Variant>& variants, Progress& progress,
                            Recorder& recorder, std::stop_token stop,
                            const HeaderCheck& check = {});

// Compiles and measures all. False where `stop` came first; the error is one of the set-up, for
// which nothing can be measured, or of `check`.
Expected<bool> measure_all(const Options& options, const std::vector<std::string>& command,
                           const std::vector<Variant>& variants, Progress& progress,
                           Recorder& recorder, std::stop_token stop, const HeaderCheck& check = {});

}  // namespace instr
