// How long measuring each variant took in earlier runs, kept in the cache to estimate the remaining
// time of a run. Nothing else depends on it, so errors are ignored.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/results/measurement.h"

namespace instr {

// A count, times and a verification of one variant are measured one after the other.
enum class Work { kCount, kTime, kVerify };

// The kind of a measurement that has just ended.
Work work_of(const Measurement& measurement);

class Costs {
 public:
  Costs() = default;
  // Empty if the file is missing, or is something else.
  static Costs read(const std::filesystem::path& file);

  void note(const Measurement& measurement);

  // Seconds; unknown ones take as long as the known ones on average and, if nothing is known, all
  // the same.
  double of(const std::string& key, Work work) const;

  // Replaces the file with the known and the newly noted times.
  void write(const std::filesystem::path& file) const;

 private:
  std::map<std::string, double> seconds_;  // by work and key
  double sum_ = 0;
};

}  // namespace instr
