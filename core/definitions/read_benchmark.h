// Reads one [[benchmark]] table into definitions, one for each statement and language.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/definitions/toml_reader.h"

namespace instr {

// A benchmark's surroundings.
struct BenchmarkContext {
  const SourceText& source;
  // The code of the named setup in this language, or null after adding an error at `where`.
  std::function<const Text*(const std::string& name, Language language,
                            const SourceLocation& where)>
      find_setup;
  std::array<std::vector<Text>, kLanguages.size()> global_setups;  // of the file and its includes
  std::shared_ptr<const BuildOptions> build;                       // may be null
};

// Adds to `errors` what is wrong; the definitions must not be used then.
std::vector<Definition> read_benchmark(const toml::table& table, const BenchmarkContext& context,
                                       Errors& errors);

// One text of several, in which each line keeps its place: by blank lines if a text comes
// further down in the same file, else by a #line directive (marked as line_marker() of
// core/compile/generate.h does for code that variants share). Nothing if `texts` is empty.
std::optional<Text> join_texts(const std::vector<Text>& texts);

}  // namespace instr
