// CSV files with places: each field with the bytes that it was read from, so that errors can name
// them and edits replace them. Quoted as in RFC 4180; a line that begins with `#` is a comment.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/base/source_text.h"
#include "core/compare/text_edits.h"

namespace instr {

struct CsvField {
  std::string text;
  TextSpan span;  // without the quotes
};

struct CsvRecord {
  std::vector<CsvField> fields;
  TextSpan lines;
};

// Splits a text into records. Malformed ones are added to `errors`.
class CsvScanner {
 public:
  CsvScanner(const SourceText& source, Errors& errors)
      : source_(source), text_(source.text()), errors_(errors) {}

  // The next complete record; nothing at the end.
  std::optional<CsvRecord> next();

 private:
  std::size_t line_end() const;
  void skip_line();
  bool refuse(std::size_t at, std::string what, std::string advice);
  bool read_fields(CsvRecord& record);
  bool read_plain(CsvField& field);
  bool read_quoted(CsvField& field);

  const SourceText& source_;
  std::string_view text_;
  Errors& errors_;
  std::size_t at_ = 0;
};

// A field as written: as_cell(), quoted if it could be misread otherwise.
std::string csv_field(const std::string& text);

}  // namespace instr
