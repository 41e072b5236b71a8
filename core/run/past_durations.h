// The seconds that measuring each variant took in earlier runs, kept in the cache to estimate the
// remaining time of a run. Nothing else depends on them, so errors are ignored.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "core/results/measurement.h"

namespace instr {

enum class Work { kCount, kTime, kVerify };

// Returns the kind of a measurement that has just ended.
Work find_work(const Measurement& measurement);

class Costs {
 public:
  Costs() = default;
  // Returns none if the file is missing or malformed.
  static Costs read(const std::filesystem::path& file);

  void learn(const Measurement& measurement);

  // Returns seconds: for an unknown variant the average of the known ones; 1 if none is known.
  double of(const std::string& key, Work work) const;

  void write(const std::filesystem::path& file) const;

 private:
  std::map<std::string, double> seconds_;  // work and key -> seconds
  double sum_ = 0;
};

}  // namespace instr
