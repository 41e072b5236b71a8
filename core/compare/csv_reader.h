// How this project's own CSV files are read: a header, then a record for each line. What is wrong
// is an error with its place, and the rest is read all the same.
#pragma once

#include <string>

#include "core/base/error.h"
#include "core/base/source_text.h"
#include "core/compare/csv_records.h"

namespace instr {

// Returns true if the file's name ends in `.csv`.
bool is_csv(const SourceText& source);

class CsvReader {
 protected:
  explicit CsvReader(const SourceText& source) : source_(source), scanner_(source, errors_) {}
  virtual ~CsvReader() = default;
  CsvReader(const CsvReader&) = delete;
  CsvReader& operator=(const CsvReader&) = delete;

  // The errors of all lines.
  Errors read_all();

  // After read_all(): the comments above the header, and those below the last record.
  const std::string& head() const { return head_; }
  const std::string& tail() const { return tail_; }

  // False if nothing can be read after it.
  virtual bool read_header(const CsvRecord& header) = 0;
  virtual void read_record(const CsvRecord& record) = 0;

  // False, with an error at that byte.
  bool refuse(std::size_t at, std::string what, std::string advice);

  // A metric that may have a limit.
  bool read_metric(const CsvField& field, std::string& metric);

  int line_of(const CsvField& field) const { return source_.place(field.begin).line; }

 private:
  const SourceText& source_;
  Errors errors_;
  CsvScanner scanner_;
  std::string head_;
  std::string tail_;
};

}  // namespace instr
