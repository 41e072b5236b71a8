// Reads CSV files of this project that people also write by hand. Each mistake is an error with its
// place, after which reading goes on. Comments are kept, so that a program can write the file
// again. Quoted as in RFC 4180; a line that begins with `#` is a comment.
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

struct CsvFormat {
  std::vector<std::string_view> columns;  // the names in the header
  std::size_t min_columns = 0;            // further columns may be omitted
  std::string_view record_advice;         // advice about a record with too few or too many fields
  // The content, such as "expected counts", of a file whose name must end in .csv; empty: any name.
  std::string_view content = {};
  bool has_header = true;
};

// Reads the records one after the other.
class CsvReader {
 public:
  CsvReader(const SourceText& source, CsvFormat format);
  CsvReader(const CsvReader&) = delete;
  CsvReader& operator=(const CsvReader&) = delete;

  // Returns the next record, which has the fields of the header, except perhaps those that may be
  // omitted; nothing after the last one.
  std::optional<CsvRecord> next();

  // The header with the comments above it and, at the end, the comments below the last record.
  const std::string& head() const { return head_; }
  const std::string& tail() const { return comment_; }
  const Errors& errors() const { return errors_; }

  // Adds an error at that byte, and returns false.
  bool refuse(std::size_t at, std::string what, std::string advice);

  // Reads a metric that may have a limit.
  bool read_metric(const CsvField& field, std::string& metric);

  int line_of(const CsvField& field) const { return source_.place(field.begin).line; }

 private:
  std::optional<CsvRecord> read_record();
  void read_header();
  bool check_header(const CsvRecord& header);
  bool check_fields(const CsvRecord& record);
  std::size_t line_end() const;
  void skip_line();
  bool read_fields(CsvRecord& record);
  bool read_plain(CsvField& field);
  bool read_quoted(CsvField& field);

  const SourceText& source_;
  const CsvFormat format_;
  std::string_view text_;
  Errors errors_;
  std::size_t at_ = 0;
  std::size_t columns_ = 0;  // the number of columns in the header
  std::string head_;
  std::string comment_;  // comments since the last record
};

template <class Line>
struct CsvFile {
  std::string head;
  std::vector<Line> lines;
  std::string tail;
};

// Reads a whole file. `read_line` makes a std::optional<Line> of a reader and a record.
template <class Line, class ReadLine>
tl::expected<CsvFile<Line>, Errors> read_csv(const SourceText& source, const CsvFormat& format,
                                             ReadLine read_line) {
  CsvReader reader(source, format);
  std::vector<Line> lines;
  while (const auto record = reader.next()) {
    if (auto line = read_line(reader, *record)) lines.push_back(*std::move(line));
  }
  if (!reader.errors().empty()) return fail(reader.errors());
  return CsvFile<Line>{reader.head(), std::move(lines), reader.tail()};
}

// Returns nothing if the field is not a finite number.
std::optional<double> parse_number(const CsvField& field);

// Returns the shortest text that reads as the same number; 0 has no sign.
std::string format_exactly(double value);

}  // namespace instr
