// Reads a [[benchmark]] table, and a file's [build] table.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/definitions/grouped_benchmark.h"
#include "core/definitions/toml_reader.h"

namespace instr {

// The parts of a file that its benchmarks use.
struct BenchmarkContext {
  const SourceText& source;
  // Returns the code of the named setup in this language, or null after adding an error at `where`.
  std::function<const Text*(const std::string& name, Language language,
                            const SourceLocation& where)>
      find_setup;
  std::array<std::vector<Text>, kLanguages.size()> global_setups;  // the file's and its includes'
  std::shared_ptr<const BuildOptions> build;                       // may be null
  std::map<std::string, std::string> limits;                       // the file's: metric -> "0.5%"
};

// If this adds to `errors`, the benchmark must not be used.
GroupedBenchmark read_benchmark(const toml::table& table, const BenchmarkContext& context,
                                Errors& errors);

// Reads a file's [build] table: users' own code. Paths become absolute, from the folder of the
// file. A missing source is an error.
std::shared_ptr<const BuildOptions> read_build(const toml::table& table, const SourceText& source,
                                               Errors& errors);

// Reads the `limit` of a file or of a benchmark: metric -> "0.5%".
std::map<std::string, std::string> read_limits(const TableReader& read, const SourceText& source,
                                               Errors& errors);

}  // namespace instr
