// The folder of --output-dirname: its files, and what is written there beside the results.
#pragma once

#include <filesystem>
#include <stop_token>
#include <vector>

#include "core/base/error.h"
#include "core/results/experiment.h"

namespace instr {

class ExperimentFolder {
 public:
  explicit ExperimentFolder(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path results() const { return path_ / "results.jsonl"; }
  std::filesystem::path dumps() const { return path_ / "dumps"; }

  // Makes it, unless it is there; an error if it cannot be written to.
  Expected<void> make() const;

  // summary.txt and summary.md.
  Expected<void> write_summary(const std::vector<ExperimentRecord>& records) const;

  // KIND.svg for each kind of picture that there is something to draw for. What is missing is
  // reported.
  Expected<void> draw(const std::vector<ExperimentRecord>& records, std::stop_token stop) const;

 private:
  std::filesystem::path path_;
};

}  // namespace instr
