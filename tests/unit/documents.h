// The pages of docs/ and the tables in them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/read_file.h"
#include "core/base/trim.h"

namespace instr::testing {

// A file of the sources: "docs/TIMING.md".
inline std::string source_file(const std::string& name) {
  return read_file(std::string(INSTR_SOURCE_DIR) + "/" + name, kMostText).value();
}

inline std::vector<std::string> cells_of(std::string_view row) {
  std::vector<std::string> cells;
  row.remove_prefix(1);
  for (std::size_t end = row.find('|'); end != std::string_view::npos; end = row.find('|')) {
    cells.emplace_back(trim(row.substr(0, end)));
    row.remove_prefix(end + 1);
  }
  return cells;
}

// The rows of all tables whose first heading is this.
inline std::vector<std::vector<std::string>> rows_of(std::string_view text,
                                                     std::string_view heading) {
  std::vector<std::vector<std::string>> rows;
  bool is_within = false;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (!line.starts_with('|')) {
      is_within = false;
    } else if (is_within) {
      if (!line.starts_with("|--")) rows.push_back(cells_of(line));
    } else {
      is_within = cells_of(line).front() == heading;
    }
  }
  return rows;
}

}  // namespace instr::testing
