// How long measuring each variant took in earlier runs, kept in the cache: what a run has left is
// estimated by it. Nothing else depends on it, so that what cannot be read or written is ignored.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/values/measurement.h"

namespace instr {

// A count, times and a verification of one variant are measured one after the other.
enum class Work { kCount, kTime, kVerify };

// What a measurement that has just ended was.
Work work_of(const Measurement& measurement);

class Costs {
 public:
  Costs() = default;
  // Empty if the file is not there, or is another's.
  static Costs read(const std::filesystem::path& file);

  void note(const Measurement& measurement);

  // Seconds; what is not known takes as long as what is known does on average, and if nothing
  // is, each as long as any other.
  double of(const std::string& key, Work work) const;

  // Replaces the file with what was known and what was noted.
  void write(const std::filesystem::path& file) const;

 private:
  std::map<std::string, double> seconds_;  // by work and key
  double sum_ = 0;
};

}  // namespace instr
