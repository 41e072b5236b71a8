// Rows of a history in columns, for people and for programs: every format from the same cells.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/base/table.h"
#include "core/report/report.h"

namespace instr {

struct ListingCell {
  std::string value = {};  // a text, or any other JSON; empty: null
  std::string shown = {};  // to people, if that is another text
  Tone tone = Tone::kPlain;
  bool is_text = false;
};

struct ListingColumn {
  const char* name;     // for programs
  const char* heading;  // for people; null: not shown to them
  Align align = Align::kLeft;
  bool is_spare = false;  // left out, the last one first, where a table is too wide otherwise
};

struct ListingRow {
  std::vector<ListingCell> cells;       // one for each column
  std::vector<std::string> lines = {};  // below it, for people
  std::string more = {};                // the JSON of a further member, or empty
};

struct Listing {
  std::vector<ListingColumn> columns;
  std::vector<ListingRow> rows = {};
  const char* more_name = nullptr;
  bool has_head = true;  // in CSV, the line of names
};

// The formats that a listing has.
const std::vector<ReportFormat>& listing_formats();

std::string listing_text(const Listing& listing, ReportFormat format, std::size_t width,
                         bool color);

}  // namespace instr
