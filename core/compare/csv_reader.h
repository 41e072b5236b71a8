// CSV files of this project that people write too. What is wrong is an error with its place, and
// the rest is read all the same; the comments are kept, so that a program that writes the file
// again has them. Quoted as in RFC 4180; a line that begins with `#` is a comment.
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
  std::size_t min_columns = 0;            // those after these may be omitted
  std::string_view record_advice;         // for a record that has too few or too many fields
  std::string_view things = {};  // that are in a file whose name ends in .csv; empty: in any file
};

class CsvReader {
 protected:
  CsvReader(const SourceText& source, CsvFormat format)
      : source_(source), format_(std::move(format)), text_(source.text()) {}
  virtual ~CsvReader() = default;
  CsvReader(const CsvReader&) = delete;
  CsvReader& operator=(const CsvReader&) = delete;

  // The errors of all lines.
  Errors read_all();

  // After read_all(): the header with the comments above it, and the comments below the last
  // record.
  const std::string& head() const { return head_; }
  const std::string& tail() const { return comment_; }

  // A record with as many fields as the header has; only columns that may be omitted can lack.
  virtual void read_record(const CsvRecord& record) = 0;

  // False, with an error at that byte.
  bool refuse(std::size_t at, std::string what, std::string advice);

  // A metric that may have a limit.
  bool read_metric(const CsvField& field, std::string& metric);

  int line_of(const CsvField& field) const { return source_.place(field.begin).line; }

 private:
  std::optional<CsvRecord> next();
  bool read_header(const CsvRecord& header);
  bool has_its_fields(const CsvRecord& record);
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
  std::size_t columns_ = 0;  // of the header
  std::string head_;
  std::string comment_;  // since the last record
};

// The shortest text that reads as the same number; 0 has no sign.
std::string count_text(double value);

}  // namespace instr
