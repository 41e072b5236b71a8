// Helpers for all tests: values and errors, temporary files, environment variables, measurements.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/base/gzip.h"
#include "core/base/process.h"
#include "core/compare/compare.h"
#include "core/definitions/expand.h"
#include "core/definitions/load.h"
#include "core/results/result_set.h"
#include "core/results/results_file.h"

namespace instr::testing {

namespace fs = std::filesystem;

// --- Values, errors, text ---

// Returns the error as text; "no error" if there is a value.
template <class T>
std::string error_text(const Expected<T>& expected) {
  return expected ? "no error" : to_string(expected.error());
}

// Returns a line for each error, with `folder` and its slash removed from the paths.
inline std::string error_lines(const Errors& errors, const fs::path& folder = "nowhere") {
  std::string lines;
  for (const Error& error : errors) lines += to_string(error) + "\n";
  const std::string prefix = folder.string() + "/";
  for (std::size_t at = lines.find(prefix); at != std::string::npos; at = lines.find(prefix, at)) {
    lines.erase(at, prefix.size());
  }
  return lines;
}

// Returns the value; an error fails the test with its text.
template <class T>
T value_of(Expected<T> expected) {
  if (!expected) throw std::runtime_error(to_string(expected.error()));
  return std::move(*expected);
}

template <class T>
T value_of(tl::expected<T, Errors> expected) {
  if (!expected) throw std::runtime_error(error_lines(expected.error()));
  return std::move(*expected);
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A predicate for EXPECT_PRED_FORMAT2; the first two arguments are the expressions.
inline ::testing::AssertionResult has_part(const char*, const char*, const std::string& text,
                                           const std::string& part) {
  if (has(text, part)) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "`" << part << "` is not in:\n" << text;
}

inline std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Replaces the first `old` in the text; throws if there is none.
inline std::string replaced(std::string text, const std::string& old, const std::string& with) {
  return text.replace(text.find(old), old.size(), with);
}

template <class T>
T value_of(std::optional<T> optional) {
  return std::move(optional.value());
}

// --- Files and the environment ---

// Returns the path of a file in tests/fixtures.
inline fs::path fixture(const std::string& name) {
  return fs::path(INSTR_SOURCE_DIR) / "tests/fixtures" / name;
}

// Returns the bytes of a file; empty if there is none.
inline std::string text_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline void write(const fs::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

// A temporary folder, which the destructor removes with its content.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (fs::temp_directory_path() / "instr_test_XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = pattern;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

  const fs::path& path() const { return path_; }
  fs::path operator/(const std::string& name) const { return path_ / name; }

  // Writes a file, creates its folders, and returns its path.
  fs::path write(const std::string& name, const std::string& text = "") const {
    const fs::path file = path_ / name;
    fs::create_directories(file.parent_path());
    // Some file systems flush a file that replaces its old content at once, which is slow.
    fs::remove(file);
    testing::write(file, text);
    return file;
  }

 private:
  fs::path path_;
};

// Sets an environment variable, or removes it if there is no value, and finally restores it.
class ScopedVariable {
 public:
  explicit ScopedVariable(std::string name, const std::optional<std::string>& value = {})
      : name_(std::move(name)) {
    if (const char* before = ::getenv(name_.c_str())) before_ = before;
    set(value);
  }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;
  ~ScopedVariable() { set(before_); }

  void set(const std::optional<std::string>& value) const {
    value ? ::setenv(name_.c_str(), value->c_str(), 1) : ::unsetenv(name_.c_str());
  }

 private:
  std::string name_;
  std::optional<std::string> before_;
};

// --- Programs ---

// Runs a program, which must end with status 0, and returns its output.
inline std::string program_output(std::vector<std::string> argv) {
  const CommandResult ended = value_of(run_command({.argv = std::move(argv)}));
  EXPECT_EQ(ended.exit_code, 0) << ended.output << ended.errors;
  return ended.output;
}

// --- Definitions ---

// Returns the errors of loading and expanding; empty if there are none.
inline std::string load_errors(const std::vector<fs::path>& paths, const fs::path& folder) {
  const auto definitions = load_definitions(paths);
  if (!definitions) return error_lines(definitions.error(), folder);
  const auto variants = expand(definitions->benchmarks);
  return variants ? "" : error_lines(variants.error(), folder);
}

// Returns the errors of a file a.toml with this text.
inline std::string errors_of(const std::string& text) {
  const TemporaryFolder folder;
  return load_errors({folder.write("a.toml", text)}, folder.path());
}

// Returns the benchmarks of a file with this text; an error fails the test.
inline std::vector<GroupedBenchmark> definitions_of(const std::string& text) {
  const TemporaryFolder folder;
  return value_of(load_definitions({folder.write("a.toml", text)})).benchmarks;
}

// Returns the snippet of each statement.
inline std::vector<Snippet> snippets_of(const std::vector<GroupedBenchmark>& benchmarks) {
  std::vector<Snippet> snippets;
  for (const GroupedBenchmark& benchmark : benchmarks) {
    for (const Statement& statement : benchmark.statements) {
      snippets.push_back(make_snippet(benchmark, statement));
    }
  }
  return snippets;
}

inline std::vector<std::string> keys_of(const std::vector<Variant>& variants) {
  std::vector<std::string> keys;
  for (const Variant& variant : variants) keys.push_back(variant.key);
  return keys;
}

// --- Measurements ---

// Returns a measurement of the variant with that key.
inline Measurement measured(const std::string& key,
                            std::variant<Counted, Skipped, Failure> outcome) {
  return {parse_key(key), std::move(outcome)};
}

// Returns a steady count.
inline Measurement counted(const std::string& key, std::map<std::string, double> metrics) {
  Counted outcome;
  outcome.steady = true;
  outcome.iterations = 20;
  if (auto ir = metrics.find("instructions"); ir != metrics.end()) {
    outcome.first_block_instructions = outcome.second_block_instructions = ir->second;
  }
  outcome.metrics = std::move(metrics);
  return measured(key, std::move(outcome));
}

inline Measurement counted(const std::string& key, double ir) {
  return counted(key,
                 {{"instructions", ir}, {"allocs", 2}, {"alloc_bytes", 128}, {"peak_bytes", 64}});
}

// Returns a count whose two blocks have these instructions.
inline Measurement unsteady(const std::string& key, double first, double second) {
  Measurement measurement = counted(key, second);
  auto& outcome = std::get<Counted>(measurement.outcome);
  outcome.steady = false;
  outcome.first_block_instructions = first;
  return measurement;
}

// Returns times in nanoseconds, a value for each repetition. `wall`: both wall and CPU time;
// `more`: other metrics.
inline Measurement timed(const std::string& key, std::vector<double> wall,
                         std::map<std::string, std::vector<double>, std::less<>> more = {}) {
  Counted outcome;
  outcome.steady = true;
  outcome.timing = Timing{std::move(more), 1000};
  outcome.timing->values[kCpu] = wall;
  outcome.timing->values[kWall] = std::move(wall);
  add_times(outcome.metrics, *outcome.timing);
  return measured(key, std::move(outcome));
}

inline Measurement failed(const std::string& key, FailureKind kind = FailureKind::kCrashed,
                          const std::string& message = "ended by a signal") {
  return measured(key, Failure{kind, message});
}

inline Measurement skipped(const std::string& key, const std::string& reason = "needs CUDA") {
  return measured(key, Skipped{reason});
}

// Returns the measurement, verified with this result.
inline Measurement verified(Measurement measurement, VerificationCode code,
                            const std::string& reason = "why") {
  measurement.verification = Verification{code, reason};
  return measurement;
}

// --- Results ---

// Returns the bytes of a file of gzip members with these texts.
inline std::string packed(const std::vector<std::string>& texts) {
  std::string bytes;
  for (const std::string& text : texts) bytes += value_of(gzip_member(text));
  return bytes;
}

// Writes a results file with these measurements, and their profiles.
inline void write_results(const fs::path& file, const ResultsHeader& header,
                          const std::vector<Measurement>& measurements) {
  auto writer = value_of(ResultsWriter::create(value_of(ResultsTarget::open(file)), header));
  for (const Measurement& measurement : measurements) EXPECT_TRUE(writer.append(measurement));
  EXPECT_TRUE(writer.finish(true));
}

inline ResultSet results(const std::string& name, std::vector<Measurement> measurements) {
  ResultSet set;
  set.name = name;
  set.results.measurements = std::move(measurements);
  return set;
}

inline ResultSet before(std::vector<Measurement> measurements) {
  return results("the baseline", std::move(measurements));
}

inline ResultSet after(std::vector<Measurement> measurements) {
  return results("the new results", std::move(measurements));
}

}  // namespace instr::testing

#define EXPECT_HAS(text, part) EXPECT_PRED_FORMAT2(::instr::testing::has_part, text, part)
