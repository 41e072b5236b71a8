// Runs the built instr_bench, and reads its output files.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <source_location>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "core/base/process.h"
#include "tests/testing.h"

namespace instr::e2e {

using namespace testing;

inline fs::path fixture(const std::string& name) { return testing::fixture("e2e/" + name); }

// The program of this build, or of the build that INSTR_TEST_PROGRAM names.
inline std::string program_under_test() {
  const char* given = getenv("INSTR_TEST_PROGRAM");
  return given ? given : INSTR_BENCH_PROGRAM;
}

// The cache of all end-to-end tests, so that they share a compiled worker. It identifies stray
// processes: every worker runs a program from it.
inline fs::path cache_folder() {
  if (const char* given = getenv("INSTR_TEST_CACHE")) return given;
  return fs::path(program_under_test()).parent_path() / "e2e-cache";
}

// Returns whether the LibTorch under test belongs to an interpreter, which runs snippets in Python.
inline bool has_python() {
  const char* libtorch = getenv("TORCH_DIR");
  return libtorch != nullptr && fs::path(libtorch).parent_path().filename() == "site-packages";
}

inline std::vector<std::string> environment(const fs::path& cache = cache_folder()) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable; ++variable) {
    if (std::string(*variable).rfind("INSTR_BENCH_CACHE=", 0) != 0)
      variables.emplace_back(*variable);
  }
  variables.push_back("INSTR_BENCH_CACHE=" + cache.string());
  return variables;
}

inline SpawnOptions command(std::vector<std::string> arguments) {
  SpawnOptions options;
  options.argv = {program_under_test()};
  options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
  options.environment = environment();
  return options;
}

// `variables` ("NAME=value") are added to the environment, or replaced in it.
inline CommandResult run(std::vector<std::string> arguments,
                         const std::vector<std::string>& variables = {}) {
  auto options = command(std::move(arguments));
  for (const std::string& variable : variables) {
    const std::string name = variable.substr(0, variable.find('=') + 1);
    std::erase_if(*options.environment,
                  [&name](const std::string& known) { return known.starts_with(name); });
    options.environment->push_back(variable);
  }
  return value_of(run_command(options));
}

// Expects that the program ended with this status, and returns what it printed.
inline CommandResult expect_status(
    int status, CommandResult ended,
    const std::source_location& place = std::source_location::current()) {
  const ::testing::ScopedTrace trace(place.file_name(), static_cast<int>(place.line()), "");
  EXPECT_EQ(ended.exit_code, status) << ended.output << ended.errors;
  return ended;
}

// Expects status 2 and an error with these words.
inline void expect_refused(const CommandResult& ended, const std::string& words,
                           const std::source_location& place = std::source_location::current()) {
  EXPECT_HAS(expect_status(2, ended, place).errors, words);
}

using Records = std::map<std::string, nlohmann::json>;

// Reads the measurements of a results file, by key. Checks that the first line is the header and,
// for complete results, that the last line is the end.
inline Records read_results(const fs::path& file, bool is_complete = true) {
  std::ifstream stream(file);
  std::string line;
  Records records;
  bool header = true;
  bool has_end = false;
  while (std::getline(stream, line)) {
    auto record = nlohmann::json::parse(line);
    if (header) {
      EXPECT_TRUE(record.contains("schema")) << line;
      header = false;
    } else if (record.contains("end")) {
      has_end = true;
      EXPECT_GE(record.at("end").at("measurements"), records.size());
    } else {
      EXPECT_FALSE(has_end) << line;
      records[record.at("key").get<std::string>()] = record;
    }
  }
  EXPECT_EQ(has_end, is_complete) << file;
  return records;
}

// Lists processes that run in a folder of `cache`, or a program from it: workers, and processes
// that snippets left behind.
inline std::vector<std::string> running_in(const fs::path& cache) {
  std::vector<std::string> strays;
  std::error_code ignored;
  std::string prefix = fs::weakly_canonical(cache, ignored).string();
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    std::string cwd = fs::read_symlink(entry.path() / "cwd", ignored).string();
    std::ifstream maps(entry.path() / "maps");
    std::ostringstream mapped;  // iterators would throw if the process ends
    mapped << maps.rdbuf();
    bool is_ours =
        cwd.rfind(prefix, 0) == 0 || mapped.str().find(" " + prefix) != std::string::npos;
    if (is_ours) strays.push_back(entry.path().filename().string());
  }
  return strays;
}

// Lists the processes that remain after two minutes: removing killed ones takes the kernel a
// moment.
inline std::vector<std::string> stray_processes(const fs::path& cache = cache_folder()) {
  auto strays = running_in(cache);
  for (int i = 0; i < 12'000 && !strays.empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    strays = running_in(cache);
  }
  return strays;
}

// Lists files of this name in the cache: the snippets of hostile.toml write "left_here".
inline std::vector<fs::path> left_in_cache(const std::string& name) {
  std::vector<fs::path> left;
  for (const auto& entry : fs::recursive_directory_iterator(cache_folder())) {
    if (entry.path().filename() == name) left.push_back(entry.path());
  }
  return left;
}

// <venv>/lib/python3.x/site-packages/torch -> <venv>/bin/python; empty if LibTorch has none.
inline fs::path python_of_libtorch() {
  const char* torch = getenv("TORCH_DIR");
  if (torch == nullptr) return {};
  fs::path python = fs::path(torch) / "../../../../bin/python";
  return fs::exists(python) ? python.lexically_normal() : fs::path();
}

// Runs a line of a shell in that folder, with the program as $P.
inline CommandResult run_in_shell(const std::string& line, const fs::path& folder) {
  SpawnOptions options;
  options.argv = {"bash", "-c", line};
  options.environment = environment();
  options.environment->push_back("P=" + program_under_test());
  options.working_directory = folder;
  return value_of(run_command(options));
}

}  // namespace instr::e2e
