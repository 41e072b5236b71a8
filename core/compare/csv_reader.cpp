#include "core/compare/csv_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "core/base/format.h"
#include "core/base/near_match.h"
#include "core/base/text.h"
#include "core/definitions/limit.h"
#include "core/definitions/metrics.h"

namespace instr {

CsvReader::CsvReader(const SourceText& source, CsvFormat format)
    : source_(source), format_(std::move(format)), text_(source.text()) {
  const bool is_csv = std::filesystem::path(source_.path()).extension() == ".csv";
  if (is_csv || format_.content.empty()) {
    read_header();
  } else {
    errors_.push_back({source_.at(0, 0), fmt::format("{} must be in a CSV file", format_.content),
                       "give the file a name that ends in .csv"});
    at_ = text_.size();
  }
}

void CsvReader::read_header() {
  columns_ = format_.columns.size();
  if (!format_.has_header) return;
  const auto header = read_record();
  const std::string comment = header ? header->comment : std::exchange(comment_, "");
  head_ = fmt::format("{}{}\n", comment, fmt::join(format_.columns, ","));
  if (header && check_header(*header)) {
    columns_ = header->fields.size();
  } else {
    at_ = text_.size();
  }
}

std::optional<CsvRecord> CsvReader::next() {
  for (;;) {
    auto record = read_record();
    if (!record || check_fields(*record)) return record;
  }
}

bool CsvReader::check_header(const CsvRecord& header) {
  const auto& fields = header.fields;
  const auto& columns = format_.columns;
  const std::string advice = fmt::format("the first line is `{}`", fmt::join(columns, ","));
  for (std::size_t i = 0; i < std::min(fields.size(), columns.size()); ++i) {
    if (trim(fields[i].text) == columns[i]) continue;
    return refuse(
        fields[i].begin,
        fmt::format("column {} is `{}` and not `{}`", i + 1, printable(fields[i].text), columns[i]),
        advice);
  }
  if (fields.size() < format_.min_columns) {
    return refuse(fields.back().end, fmt::format("there is no column `{}`", columns[fields.size()]),
                  advice);
  }
  if (fields.size() > columns.size()) {
    return refuse(fields[columns.size()].begin, "there is a column too many", advice);
  }
  return true;
}

bool CsvReader::check_fields(const CsvRecord& record) {
  const std::size_t count = record.fields.size();
  if (count >= format_.min_columns && count <= columns_) return true;
  return refuse(
      record.begin,
      fmt::format("this line has {}, and the header {}", format_plural(count, "field"), columns_),
      std::string(format_.record_advice));
}

bool CsvReader::refuse(std::size_t at, std::string what, std::string advice) {
  errors_.push_back({source_.place(at), std::move(what), std::move(advice)});
  return false;
}

bool CsvReader::read_metric(const CsvField& field, std::string& metric) {
  metric = metric_name(trim(field.text));
  const auto& known = limit_metrics();
  if (std::ranges::find(known, metric) != known.end()) return true;
  return refuse(field.begin, fmt::format("unknown metric `{}`", printable(metric)),
                did_you_mean(metric, known));
}

std::optional<CsvRecord> CsvReader::read_record() {
  while (at_ < text_.size()) {
    const std::string_view line = text_.substr(at_, line_end() - at_);
    if (line.starts_with('#') || trim(line).empty()) {
      comment_ += std::string(line) + "\n";
      skip_line();
      continue;
    }
    CsvRecord record{{}, at_, std::exchange(comment_, "")};
    const bool is_whole = read_fields(record);
    skip_line();
    if (is_whole) return record;
  }
  return std::nullopt;
}

// Returns the end of the text of the line: before "\n", "\r\n" or the end of the file.
std::size_t CsvReader::line_end() const {
  const std::size_t end = std::min(text_.find('\n', at_), text_.size());
  return end > at_ && text_[end - 1] == '\r' ? end - 1 : end;
}

void CsvReader::skip_line() { at_ = std::min(text_.find('\n', at_), text_.size() - 1) + 1; }

bool CsvReader::read_fields(CsvRecord& record) {
  for (;;) {
    CsvField& field = record.fields.emplace_back();
    const bool is_quoted = at_ < text_.size() && text_[at_] == '"';
    if (!(is_quoted ? read_quoted(field) : read_plain(field))) return false;
    if (at_ >= text_.size() || text_[at_] != ',') return true;
    ++at_;
  }
}

bool CsvReader::read_plain(CsvField& field) {
  const std::size_t end = line_end();
  field.begin = at_;
  field.end = std::min(text_.find(',', at_), end);
  field.text = text_.substr(at_, field.end - at_);
  if (const auto quote = field.text.find('"'); quote != std::string::npos) {
    return refuse(at_ + quote, "a quote in an unquoted field",
                  "put the whole field in quotes, and write each quote in it twice");
  }
  at_ = field.end;
  return true;
}

bool CsvReader::read_quoted(CsvField& field) {
  const std::size_t open = at_++;
  field.begin = at_;
  for (;;) {
    const std::size_t quote = text_.find('"', at_);
    if (quote == std::string_view::npos) {
      return refuse(open, "this quote is never closed",
                    "close it; a quote in a field is written twice");
    }
    field.text += text_.substr(at_, quote - at_);
    at_ = quote + 1;
    if (at_ >= text_.size() || text_[at_] != '"') break;
    field.text += '"';
    ++at_;
  }
  field.end = at_ - 1;
  if (at_ == line_end() || text_[at_] == ',') return true;
  return refuse(at_, "text after the closing quote", "a quote in a field is written twice");
}

std::optional<double> parse_number(const CsvField& field) {
  const auto number = parse_number<double>(trim(field.text));
  return number && std::isfinite(*number) ? number : std::nullopt;
}

std::string format_exactly(double value) {
  return fmt::format("{}", value + 0.0);  // -0 becomes 0
}

}  // namespace instr
