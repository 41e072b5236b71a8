// CSV files that people write too: records with places, so that errors can name them, and with the
// comments above them, so that a program that writes the file again keeps these. Quoted as in
// RFC 4180; a line that begins with `#` is a comment.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/base/source_text.h"

namespace instr {

struct CsvField {
  std::string text;
  std::size_t begin = 0;  // bytes [begin, end) of the file, without the quotes
  std::size_t end = 0;
};

struct CsvRecord {
  std::vector<CsvField> fields;
  std::size_t begin = 0;  // the byte of the file
  std::string comment;    // comments and blank lines above the record, each line ended by "\n"
};

// Splits a text into records. Malformed ones are added to `errors`.
class CsvScanner {
 public:
  CsvScanner(const SourceText& source, Errors& errors)
      : source_(source), text_(source.text()), errors_(errors) {}

  // The next complete record; nothing at the end.
  std::optional<CsvRecord> next();

  // At the end: the comments and blank lines below the last record.
  const std::string& comment() const { return comment_; }

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
  std::string comment_;  // since the last record
};

// A record's line, with its end. Fields are quoted if they could be misread otherwise.
std::string csv_record(const std::vector<std::string>& fields);

// The shortest text that reads as the same number; 0 has no sign.
std::string count_text(double value);

}  // namespace instr
