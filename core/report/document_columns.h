// Tables of documents in columns of text.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/base/table.h"
#include "core/report/document.h"

namespace instr {

// A table in text, of some columns of a document's table.
struct TextColumns {
  std::vector<std::size_t> shown;  // the numbers of the columns
  Table table;
};

// Lays the table out in at most `options.width` columns of the terminal, without as many spare
// columns as necessary. Returns nothing if that is still too wide.
std::optional<TextColumns> fit_columns(const DocumentTable& table, const RenderOptions& options);

// Lays out, in any width, the columns that are not spare.
TextColumns lay_out_necessary(const DocumentTable& table, const RenderOptions& options);

// The columns of a terminal that the table takes.
std::size_t columns_width(const DocumentTable& table);

}  // namespace instr
