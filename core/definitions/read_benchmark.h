// Reads a [[benchmark]] table, and a file's [build] table.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
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

// Reads the options that are the same for all statements and languages: threads, devices, tags and
// so on; limits of the benchmark replace those that `benchmark` has.
void read_options(const TableReader& read, const SourceText& source, Errors& errors,
                  GroupedBenchmark& benchmark);

// Reads a benchmark's `matrix`: its parameters, in the order written; values as C++ spells them (a
// float always has a point or an exponent). `variants_of_point`: the number of variants per
// combination. Adds errors to the reader: bad names, empty lists, values that repeat or that cannot
// be part of a key, and more variants than kMaxVariantsPerBenchmark, which is checked before any
// value is read.
std::vector<std::pair<std::string, std::vector<std::string>>> read_matrix(
    const TableReader& benchmark, const SourceText& source, std::uint64_t variants_of_point);

// Adds the statements of a [[benchmark]] table in this language, in the order written: a statement,
// many statements, or many modules.
void read_statements(const TableReader& read, const SourceText& source, Language language,
                     std::vector<Statement>& statements);

// Sorts statements so that those with the same name follow each other, in the order of languages.
void sort_statements(std::vector<Statement>& statements);

}  // namespace instr
