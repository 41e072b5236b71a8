// The results file of experiments: a line each, written as it ends, so that a killed run can be
// resumed.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/append_file.h"
#include "core/base/error.h"
#include "core/experiments/experiment_record.h"
#include "core/results/functions_file.h"
#include "core/results/result_set.h"

namespace instr {

// All whole lines of such a file's text. An error names the line that is not an experiment.
Expected<std::vector<ExperimentRecord>> parse_experiments(std::string_view text,
                                                          const std::string& name);

// Whether a file with this text is one, of at least one experiment.
bool are_experiments(std::string_view text);

// The same of a run that has finished, unless it need not have.
Expected<std::vector<ExperimentRecord>> whole_experiments(std::string_view text,
                                                          const std::string& name,
                                                          Incomplete incomplete);

// Reads a results file, or a file of experiments, measured under what their settings say: their
// metrics may differ from run to run.
Expected<ResultSet> read_any_result_set(const std::filesystem::path& file, std::string name,
                                        Incomplete incomplete = Incomplete::kRefused);

class ExperimentLog {
 public:
  // Whether the file can be written and holds nothing else; open() checks this, too.
  static Expected<void> check(const std::filesystem::path& file);

  // Opens the file, which may already exist: a truncated last line is removed, and so are results
  // that are not final (is_final). Errors: a line that is not an experiment, one whose key is not
  // in `variants`, one measured in another way; another run that has the file open.
  static Expected<ExperimentLog> open(const std::filesystem::path& path,
                                      const std::vector<Variant>& variants,
                                      const ExperimentSetting& setting);

  // Appends what a file of the same kind has and this one lacks, of these variants; results that
  // are not final and a truncated last line are left there. Another run may be writing to that.
  // Errors as of open().
  Expected<void> take_in(const std::filesystem::path& part, const std::vector<Variant>& variants,
                         const ExperimentSetting& setting);

  // The records in the file, and those that could not be written to it.
  const std::vector<ExperimentRecord>& records() const { return records_; }

  // The variants that the file lacks, in their order.
  std::vector<Variant> missing(const std::vector<Variant>& variants) const;

  // Writes a line, entirely or not at all; what could not be written is written by the next call.
  Expected<void> append(ExperimentRecord record);
  // Writes what could not be written before. An error if that fails again.
  Expected<void> finish();
  // The number of results that are not in the file.
  std::size_t unwritten() const { return file_.kept(); }

 private:
  explicit ExperimentLog(AppendFile file) : file_(std::move(file)) {}

  AppendFile file_;
  std::vector<ExperimentRecord> records_;
};

}  // namespace instr
