// A document is everything that a command shows: tables and notes for people, records for programs.
// Each format renders every document, so that commands do not know the formats.
#pragma once

#include <cstddef>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/output.h"
#include "core/base/table.h"

namespace instr {

struct DocumentCell {
  std::string text;  // printable text for people
  Tone tone = Tone::kPlain;
  std::string value = {};  // JSON for programs (empty: null), or a text
  bool is_text = false;    // the value
};

// `shown`: a shorter form for people.
DocumentCell text_cell(const std::string& text, const std::string& shown = "");
// Null for programs if the number is not finite.
DocumentCell number_cell(double number, const std::string& shown, Tone tone = Tone::kPlain);
DocumentCell count_cell(std::size_t count, Tone tone = Tone::kPlain);

struct DocumentColumn {
  std::string heading;    // the heading for people
  std::string name = {};  // the name for programs
  Align align = Align::kRight;
  bool is_spare = false;   // left out, the last spare column first, where a table is too wide
  bool is_hidden = false;  // hidden from people
  std::string span = {};   // a title shared with neighbours: "instructions"
};

struct DocumentRow {
  std::vector<DocumentCell> cells;  // one for each column; the first is the row's full name
  std::string group = {};           // a heading shared with the rows beside it
  std::string name = {};            // the row's name below that heading
  std::string lines = {};           // lines below the row in text output
  std::string narrow = {};          // the whole row in a TooWide::kNarrow table
  std::string more = {};            // further members in JSON: `"attribution":{…}`
  std::vector<std::vector<DocumentCell>> parts = {};  // indented lines below the row, for people
};

enum class TooWide {
  kOverflow,
  kStacked,  // a line for each value
  kNarrow,   // DocumentRow::narrow
};

struct DocumentTable {
  std::string title = {};  // no colon; not repeated if it names the first column
  std::vector<DocumentColumn> columns;
  std::vector<DocumentRow> rows = {};
  std::size_t name_column = 0;  // the first column in Markdown
  Headings headings = Headings::kRuled;
  TooWide too_wide = TooWide::kOverflow;
  std::string stacked_title = {};
  std::size_t min_name = 20;   // columns below which names are not shortened
  bool is_tall = false;        // a name that does not fit stands above its row
  bool has_keys = false;       // names are keys, which are never shortened
  bool shortens_last = false;  // the last column, to fit
};

struct DocumentNote {
  enum class Kind {
    kFootnote,
    kList,
    kFailure,
    kConclusion,
    kText,  // lines that are shown as they are
  };
  Kind kind = Kind::kFootnote;
  std::string text = {};                // a failure's message
  std::string title = {};               // printed before each item of a list; a failure's kind
  std::vector<std::string> items = {};  // a list's items; a failure's keys
  std::size_t max_items = std::numeric_limits<std::size_t>::max();  // the maximum in text output
  std::optional<Style> style = {};
};

// A part of a comment, in Markdown: as much of it as there is space for.
struct DocumentSection {
  std::string title = {};               // the title that unfolds it; empty: it is not folded
  std::vector<std::string> items = {};  // Markdown, each of them shown whole or left out
  DocumentTable table = {};     // printed after the items; Headings::kNone: continues a table
  const char* items_name = "";  // names the items in the note about how many are left out
  std::size_t left_out = 0;     // items that are missing already
  std::size_t share = 1;        // takes the space that is left, divided by this
  bool is_vital = false;        // nothing follows it unless it is complete
};

// An object of JSON in one line, and the same as lines of CSV.
struct DocumentRecord {
  std::string json;
  std::vector<std::vector<std::string>> lines;
};

struct Document {
  // For people.
  std::string title = {};
  std::vector<DocumentTable> tables = {};
  std::vector<DocumentNote> notes = {};
  std::vector<DocumentSection> sections = {};  // Markdown only

  // For programs.
  std::string head = {};            // an object of JSON; the first line of JSON Lines
  std::string summary = {};         // an object with further members of the JSON document
  std::string last_line = {};       // JSON Lines only
  const char* list_name = nullptr;  // the name of the records in JSON; null: they are the document
  std::vector<std::string> fields = {};  // the names in CSV's first line; empty: no such line
  std::vector<DocumentRecord> records = {};
};

// A member of an object of JSON as a field of CSV; empty if it is missing or null.
std::string csv_field(const nlohmann::ordered_json& object, const std::string& name);

// Adds the rows of the table as records, and the names of its columns as fields.
void add_records(Document& document, const DocumentTable& table);

struct RenderOptions {
  std::size_t width = 0;  // columns of the terminal; 0: any
  bool color = false;
  // The limit of Markdown with sections, at least 2,000. GitHub allows 65,536 characters in a
  // comment and GitLab more; the rest is for the caller's own text.
  std::size_t max_bytes = 60000;
};

// The heading of a column on its own: "eager" of instructions, else "wall time eager".
std::string full_heading(const DocumentColumn& column);

// Writes the characters that Markdown or HTML would interpret as character references: "@name" is
// no mention, and "#1" no issue.
std::string comment_text(std::string_view text);

// Text of at most so many columns as code in a comment.
std::string comment_code(std::string_view text, std::size_t width);

// Tables of documents in columns of text.

// A table in text, of some columns of a document's table.
struct TextColumns {
  std::vector<std::size_t> shown;  // the numbers of the columns
  Table table;
};

// Lays the table out in at most `options.width` columns of the terminal, without as many spare
// columns as necessary. Returns nothing if that is still too wide.
std::optional<TextColumns> fit_columns(const DocumentTable& table, const RenderOptions& options);

// The columns of a terminal that the table takes.
std::size_t columns_width(const DocumentTable& table);

}  // namespace instr
