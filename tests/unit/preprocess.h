// The output of a compiler's preprocessor for texts that share a source, in two orders.
#pragma once

#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "core/base/process.h"
#include "core/compile/cache_files.h"
#include "core/compile/source_writer.h"
#include "tests/testing.h"

namespace instr {

// By the names that #line gives them, without empty lines; those of one name after each other.
inline std::map<std::string, std::string> preprocessed(const std::string& compiler,
                                                       const std::string& source) {
  static const testing::TemporaryFolder folder;
  const auto in = folder / "a.cpp";
  const auto out = folder / "a.ii";
  if (!write_text(in, source)) return {};
  SpawnOptions options;
  options.argv = {compiler, "-std=c++17", "-w", "-E", "-o", out.string(), in.string()};
  if (!run_command(options)) return {};
  std::map<std::string, std::string> texts;
  std::string name;
  for (const auto& line : lines_of(read_text(out).value_or(""))) {
    if (line.starts_with("# ")) {
      name = line.substr(line.find('"') + 1, line.rfind('"') - line.find('"') - 1);
    } else if (line.find_first_not_of(" \t\r") != std::string::npos) {
      texts[name] += line + "\n";
    }
  }
  return texts;
}

// The first text that is read differently after others, or that changes how an unchanging text is
// read; empty: none.
inline std::string reaching_text(const std::string& compiler,
                                 const std::vector<std::string>& texts) {
  const std::string probe = "#line 1 \"probe\"\nf g h 1'0 \"x\" {}\n\n";
  std::string forwards;
  std::string backwards;
  std::string probes;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string text = fmt::format("#line 1 \"text {}\"\n{}\n\n", i, texts[i]);
    forwards += text + probe;
    backwards.insert(0, text);
    probes += "f g h 1'0 \"x\" {}\n";
  }
  auto first = preprocessed(compiler, forwards);
  auto second = preprocessed(compiler, backwards);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string name = fmt::format("text {}", i);
    if (first[name] != second[name]) return compiler + " reads otherwise: " + texts[i];
  }
  return first["probe"] == probes ? "" : compiler + " reads otherwise what is between the texts";
}

}  // namespace instr
