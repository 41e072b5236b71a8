// The folder of --output-dir: the results, and what is written beside them.
#pragma once

#include <filesystem>
#include <stop_token>
#include <vector>

#include "core/base/error.h"
#include "core/experiments/experiment_record.h"

namespace instr {

class ExperimentFolder {
 public:
  explicit ExperimentFolder(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path results() const { return path_ / "results.jsonl"; }
  std::filesystem::path dumps() const { return path_ / "dumps"; }

  // Makes the folder, unless it exists; an error if files cannot be created in it.
  Expected<void> make() const;

  // Writes summary.txt, summary.md and KIND.svg for each kind of picture. A picture that cannot be
  // drawn is reported.
  Expected<void> write(const std::vector<ExperimentRecord>& records, std::stop_token stop) const;

 private:
  Expected<void> draw(const std::vector<ExperimentRecord>& records, std::stop_token stop) const;

  std::filesystem::path path_;
};

}  // namespace instr
