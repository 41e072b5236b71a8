// `instr_bench experiment` on definitions in a temporary folder, and the results.
#pragma once

#include <map>
#include <string>

#include "core/results/results_file.h"
#include "tests/e2e/tested_program.h"

namespace instr::e2e {

// Reads a results file, also of a run that did not finish, by key.
inline std::map<std::string, Measurement> measurements_in(const fs::path& file) {
  std::map<std::string, Measurement> by_key;
  for (Measurement& measurement :
       value_of(instr::read_results(file, Incomplete::kAllowed)).measurements) {
    const std::string key = measurement.variant.key;
    EXPECT_TRUE(by_key.emplace(key, std::move(measurement)).second) << key;
  }
  return by_key;
}

// "measured", or why not.
inline std::string ending_of(const Measurement& measurement) {
  const bool is_measured = state_of(measurement) == MeasuredState::kMeasured;
  return is_measured ? "measured" : reason_of(measurement);
}

inline double metric_of(const Measurement& measurement, const std::string& metric) {
  return find_metric_of(measurement, metric).value();
}

inline std::string code_name(const Measurement& measurement) {
  return to_string(code_of(measurement));
}

class ExperimentFixture : public ::testing::Test {
 protected:
  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }

  std::vector<std::string> words(std::vector<std::string> more) const {
    more.insert(more.begin(), {"experiment", "--definitions=" + file("d.toml"), "--min-time=0.001",
                               "--repetitions=3"});
    return more;
  }

  // Runs experiments with the results file r.jsonl.
  std::vector<std::string> with(std::vector<std::string> more) const {
    more.insert(more.begin(),
                {"--output=" + file("r.jsonl"), "--backend=eager,torchscript,frozen"});
    return words(std::move(more));
  }

  // Reads a results file, by key.
  std::map<std::string, Measurement> records(const std::string& name = "r.jsonl") const {
    return measurements_in(file(name));
  }

  // Writes definitions in which FILE is the path of marker().
  void write_definitions_with_marker(std::string text) const {
    write(file("d.toml"), text.replace(text.find("FILE"), 4, marker()));
  }
  std::string marker() const { return file("is there"); }

  // Starts experiments, and waits until a snippet has made the marker.
  Process start_until_marker(std::vector<std::string> more = {}) const {
    fs::remove(marker());
    auto process = value_of(Process::spawn(command(with(std::move(more)))));
    while (!fs::exists(marker()) && !process.wait_for(std::chrono::milliseconds(20))) {
    }
    return process;
  }

  TemporaryFolder folder_;
};

}  // namespace instr::e2e
