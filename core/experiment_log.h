// The results file of experiments: a line each, written as it ends, so that a run that was killed goes
// on where it was.
#pragma once

#include <filesystem>
#include <vector>

#include "core/error.h"
#include "core/experiment.h"
#include "core/process.h"

namespace instr {

// All whole lines of such a file. An error names the line that is no experiment's.
Expected<std::vector<ExperimentRecord>> read_experiments(const std::filesystem::path& file);

class ExperimentLog {
 public:
  // Opens the file, which may be there already: a last line that is not whole goes. Errors: a line
  // that is no experiment's, one of a key that `variants` do not have, one measured in another way.
  static Expected<ExperimentLog> open(const std::filesystem::path& file,
                                      const std::vector<Variant>& variants,
                                      const ExperimentSetting& setting);

  // What is in the file.
  const std::vector<ExperimentRecord>& records() const { return records_; }

  // The variants that the file lacks, in their order.
  std::vector<Variant> missing(const std::vector<Variant>& variants) const;

  // Writes a line, whole or not at all.
  Expected<void> append(ExperimentRecord record);

 private:
  ExperimentLog(std::filesystem::path file, Fd fd) : file_(std::move(file)), fd_(std::move(fd)) {}

  std::filesystem::path file_;
  Fd fd_;
  std::vector<ExperimentRecord> records_;
};

}  // namespace instr
