#include "core/compile/cpp/global_setup.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "core/compile/cpp/generate_cpp.h"
#include "core/compile/source_writer.h"

namespace instr {

std::optional<Text> join_global_setups(const Variant& variant) {
  const std::vector<Text>& texts = variant.global_setups;
  if (texts.empty()) return std::nullopt;
  Text joined = texts.front();
  SourceLocation end = joined.where;  // the place that the joined text has reached
  const auto add = [&](std::string_view code) {
    joined.code += code;
    end.line += static_cast<int>(std::count(code.begin(), code.end(), '\n'));
  };
  end.line += static_cast<int>(std::count(joined.code.begin(), joined.code.end(), '\n'));
  for (std::size_t i = 1; i < texts.size(); ++i) {
    const SourceLocation& next = texts[i].where;
    if (!joined.code.ends_with('\n')) add("\n");
    if (next.file == end.file && next.line >= end.line) {
      // A unit may hold many variants only if their texts are free of directives.
      add(std::string(static_cast<std::size_t>(next.line - end.line), '\n'));
    } else {
      add(fmt::format("#line {} {}\n", next.line,
                      to_cpp_literal(make_line_marker("shared", next.file))));
      end = next;
    }
    add(texts[i].code);
  }
  return joined;
}

std::string global_code(const Variant& variant) {
  auto global = join_global_setups(variant);
  return global ? std::move(global->code) : "";
}

SplitGlobal split_global(std::string_view code) {
  SplitGlobal split;
  for (const auto& line : to_lines(code)) {
    std::size_t hash = line.find_first_not_of(" \t");
    std::size_t word = hash == std::string::npos || line[hash] != '#'
                           ? std::string::npos
                           : line.find_first_not_of(" \t", hash + 1);
    bool is_include = word != std::string::npos && line.compare(word, 7, "include") == 0;
    (is_include ? split.includes : split.rest) += line;
    split.includes += '\n';
    split.rest += '\n';
  }
  return split;
}

}  // namespace instr
