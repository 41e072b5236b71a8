// The results file of experiments: a line each, written as it ends, so that a run that was killed
// goes on where it was.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/append_file.h"
#include "core/base/error.h"
#include "core/results/experiment.h"

namespace instr {

// All whole lines of such a file's text. An error names the line that is not an experiment's.
Expected<std::vector<ExperimentRecord>> parse_experiments(std::string_view text,
                                                          const std::string& name);

class ExperimentLog {
 public:
  // Whether the file can be written and holds nothing else; open() looks, too.
  static Expected<void> check(const std::filesystem::path& file);

  // Opens the file, which may be there already: a last line that is not whole goes, and so do
  // results that are not final (is_final). Errors: a line that is not an experiment's, one of a key
  // that `variants` do not have, one measured in another way; another run that has it open.
  static Expected<ExperimentLog> open(const std::filesystem::path& path,
                                      const std::vector<Variant>& variants,
                                      const ExperimentSetting& setting);

  // What is in the file, and what could not be written to it.
  const std::vector<ExperimentRecord>& records() const { return records_; }

  // The variants that the file lacks, in their order.
  std::vector<Variant> missing(const std::vector<Variant>& variants) const;

  // Writes a line, whole or not at all; what could not be written is written by the next call.
  Expected<void> append(ExperimentRecord record);
  // Writes what could not be written before. An error if that still is so.
  Expected<void> finish();
  // Results that are not in the file.
  std::size_t unwritten() const { return file_.kept(); }

 private:
  explicit ExperimentLog(AppendFile file) : file_(std::move(file)) {}

  AppendFile file_;
  std::vector<ExperimentRecord> records_;
};

}  // namespace instr
