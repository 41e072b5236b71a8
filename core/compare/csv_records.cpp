#include "core/compare/csv_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/trim.h"

namespace instr {

std::optional<CsvRecord> CsvScanner::next() {
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

// The end of the line's text: before "\n", "\r\n" or the end of the file.
std::size_t CsvScanner::line_end() const {
  const std::size_t end = std::min(text_.find('\n', at_), text_.size());
  return end > at_ && text_[end - 1] == '\r' ? end - 1 : end;
}

void CsvScanner::skip_line() { at_ = std::min(text_.find('\n', at_), text_.size() - 1) + 1; }

bool CsvScanner::refuse(std::size_t at, std::string what, std::string advice) {
  errors_.push_back({source_.place(at), std::move(what), std::move(advice)});
  return false;
}

bool CsvScanner::read_fields(CsvRecord& record) {
  for (;;) {
    CsvField& field = record.fields.emplace_back();
    const bool is_quoted = at_ < text_.size() && text_[at_] == '"';
    if (!(is_quoted ? read_quoted(field) : read_plain(field))) return false;
    if (at_ >= text_.size() || text_[at_] != ',') return true;
    ++at_;
  }
}

bool CsvScanner::read_plain(CsvField& field) {
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

bool CsvScanner::read_quoted(CsvField& field) {
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

namespace {

std::string csv_field(const std::string& text) {
  const bool is_plain = text.find_first_of(",\"\r\n") == std::string::npos && text == trim(text) &&
                        !text.starts_with('#');
  if (is_plain) return text;
  std::string result = "\"";
  for (const char c : text) result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + '"';
}

}  // namespace

std::string csv_record(const std::vector<std::string>& fields) {
  std::string line;
  for (const std::string& field : fields) {
    if (&field != &fields.front()) line += ',';
    line += csv_field(field);
  }
  return line + "\n";
}

std::string count_text(double value) {
  return fmt::format("{}", value + 0.0);  // -0 becomes 0
}

}  // namespace instr
