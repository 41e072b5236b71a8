// `instr_bench experiment` on definitions in a temporary folder, and the results.
#pragma once

#include "tests/e2e/tested_program.h"

namespace instr::e2e {

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

  // Reads the lines of a results file, by key.
  Records records(const std::string& name = "r.jsonl") const {
    Records records;
    for (const std::string& line : split_lines(text_of(file(name)))) {
      auto json = nlohmann::json::parse(line);
      EXPECT_TRUE(records.emplace(json.at("key").get<std::string>(), json).second) << line;
    }
    return records;
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
