#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/base/csv.h"
#include "core/base/format.h"
#include "core/base/near_match.h"
#include "core/base/trim.h"
#include "core/compare/expected_document.h"

namespace instr {
namespace {

constexpr std::string_view kColumns[kExpectedCsvColumns] = {"key", "metric", "expected", "margin"};
constexpr std::size_t kLeastColumns = 3;  // the margin may be omitted

struct Field {
  std::string text;
  TextSpan span;  // without the quotes
};

struct Record {
  std::vector<Field> fields;
  TextSpan lines;
};

// Splits a text into records.
class CsvScanner {
 public:
  CsvScanner(const SourceText& source, Errors& errors)
      : source_(source), text_(source.text()), errors_(errors) {}

  // The next complete record; nothing at the end.
  std::optional<Record> next() {
    while (at_ < text_.size()) {
      const std::size_t begin = at_;
      if (text_[at_] == '#' || trim(text_.substr(at_, line_end() - at_)).empty()) {
        skip_line();
        continue;
      }
      Record record;
      const bool is_whole = read_fields(record);
      skip_line();
      record.lines = {begin, at_};
      if (is_whole) return record;
    }
    return std::nullopt;
  }

 private:
  // The end of the line's text: before "\n", "\r\n" or the end of the file.
  std::size_t line_end() const {
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    return end > at_ && text_[end - 1] == '\r' ? end - 1 : end;
  }

  void skip_line() { at_ = std::min(text_.find('\n', at_), text_.size() - 1) + 1; }

  bool refuse(std::size_t at, std::string what, std::string advice) {
    errors_.push_back({source_.place(at), std::move(what), std::move(advice)});
    return false;
  }

  bool read_fields(Record& record) {
    for (;;) {
      Field& field = record.fields.emplace_back();
      const bool is_quoted = at_ < text_.size() && text_[at_] == '"';
      if (!(is_quoted ? read_quoted(field) : read_plain(field))) return false;
      if (at_ >= text_.size() || text_[at_] != ',') return true;
      ++at_;
    }
  }

  bool read_plain(Field& field) {
    const std::size_t end = line_end();
    field.span = {at_, std::min(text_.find(',', at_), end)};
    field.text = text_.substr(at_, field.span.end - at_);
    if (const auto quote = field.text.find('"'); quote != std::string::npos) {
      return refuse(at_ + quote, "a quote in an unquoted field",
                    "put the whole field in quotes, and write each quote in it twice");
    }
    at_ = field.span.end;
    return true;
  }

  bool read_quoted(Field& field) {
    const std::size_t open = at_++;
    field.span.begin = at_;
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
    field.span.end = at_ - 1;
    if (at_ == line_end() || text_[at_] == ',') return true;
    return refuse(at_, "text after the closing quote", "a quote in a field is written twice");
  }

  const SourceText& source_;
  std::string_view text_;
  Errors& errors_;
  std::size_t at_ = 0;
};

class CsvReader {
 public:
  explicit CsvReader(const SourceText& source) : source_(source), scanner_(source, errors_) {}

  tl::expected<ExpectedDocument, Errors> read() {
    const auto header = scanner_.next();
    if (header && read_header(*header)) {
      while (const auto record = scanner_.next()) read_record(*record);
    }
    if (errors_.empty()) return std::move(document_);
    return tl::unexpected(std::move(errors_));
  }

 private:
  bool refuse(std::size_t at, std::string what, std::string advice) {
    errors_.push_back({source_.place(at), std::move(what), std::move(advice)});
    return false;
  }

  bool read_header(const Record& header) {
    const auto& fields = header.fields;
    const std::string advice = fmt::format("the first line is `{}`", kExpectedCsvHeader);
    for (std::size_t i = 0; i < std::min(fields.size(), kExpectedCsvColumns); ++i) {
      if (trim(fields[i].text) == kColumns[i]) continue;
      return refuse(fields[i].span.begin,
                    fmt::format("column {} is `{}` and not `{}`", i + 1, printable(fields[i].text),
                                kColumns[i]),
                    advice);
    }
    if (fields.size() < kLeastColumns) {
      return refuse(fields.back().span.end,
                    fmt::format("there is no column `{}`", kColumns[fields.size()]), advice);
    }
    if (fields.size() > kExpectedCsvColumns) {
      return refuse(fields[kExpectedCsvColumns].span.begin, "there is a fifth column", advice);
    }
    document_.columns = fields.size();
    return true;
  }

  bool read_record(const Record& record) {
    const auto& fields = record.fields;
    if (fields.size() < kLeastColumns || fields.size() > document_.columns) {
      return refuse(record.lines.begin,
                    fmt::format("this line has {}, and the header {}",
                                format_plural(fields.size(), "field"), document_.columns),
                    "write for example `matmul/mm/n=64/eager/forward/t1/cpu,ir,12345`");
    }
    ExpectedCount count;
    count.key = from_cell(fields[0].text);
    if (count.key.empty())
      return refuse(fields[0].span.begin, "the key is empty", "list shows all keys");
    const bool has_metric = read_metric(fields[1], count);
    const bool has_number = read_number(fields[2], count);
    const bool has_margin = fields.size() == kLeastColumns || read_margin(fields[3], count);
    if (!has_metric || !has_number || !has_margin || !is_first(fields[0], count)) return false;
    document_.lines[count.key].push_back(record.lines);
    document_.counts.push_back(std::move(count));
    return true;
  }

  bool read_metric(const Field& field, ExpectedCount& count) {
    count.metric = trim(field.text);
    const auto& known = limit_metrics();
    if (std::find(known.begin(), known.end(), count.metric) != known.end()) return true;
    return refuse(field.span.begin, fmt::format("unknown metric `{}`", printable(count.metric)),
                  did_you_mean(count.metric, known));
  }

  bool read_number(const Field& field, ExpectedCount& count) {
    const std::string_view text = trim(field.text);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count.value);
    const bool is_number = error == std::errc{} && end == text.data() + text.size();
    if (is_number && std::isfinite(count.value) && count.value >= 0) {
      const auto skipped = static_cast<std::size_t>(text.data() - field.text.data());
      count.number = {field.span.begin + skipped, field.span.begin + skipped + text.size()};
      return true;
    }
    const bool is_negative = is_number && count.value < 0;
    return refuse(field.span.begin,
                  text.empty() ? "there is no expected count"
                               : fmt::format("`{}` is {}", printable(text),
                                             is_negative ? "negative" : "not a count"),
                  "write a number of 0 or more, such as `12345` or `12.5`");
  }

  bool read_margin(const Field& field, ExpectedCount& count) {
    if (trim(field.text).empty()) return true;
    auto margin = parse_limit(from_cell(field.text));
    if (!margin) {
      return refuse(field.span.begin, printable(margin.error().what),
                    std::move(margin.error().advice));
    }
    count.margin = *margin;
    return true;
  }

  bool is_first(const Field& field, const ExpectedCount& count) {
    const int line = source_.place(field.span.begin).line;
    const auto [known, is_new] = seen_.emplace(std::pair(count.key, count.metric), line);
    if (is_new) return true;
    return refuse(field.span.begin,
                  fmt::format("`{}` has two counts of `{}`; the first is on line {}",
                              printable(count.key), count.metric, known->second),
                  "remove one of them");
  }

  const SourceText& source_;
  Errors errors_;
  CsvScanner scanner_;
  ExpectedDocument document_;
  std::map<std::pair<std::string, std::string>, int> seen_;
};

// Quoted if it could be misread otherwise.
std::string quoted(const std::string& text) {
  const bool is_plain = text.find_first_of(",\"\r\n") == std::string::npos && text == trim(text) &&
                        !text.starts_with('#');
  if (is_plain) return text;
  std::string result = "\"";
  for (const char c : text) result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + '"';
}

}  // namespace

tl::expected<ExpectedDocument, Errors> parse_expected_csv(const SourceText& source) {
  return CsvReader(source).read();
}

std::string expected_csv_lines(std::size_t columns, const std::string& key,
                               const MetricValues& metrics, std::string_view end) {
  std::string lines;
  for (const auto& [metric, value] : metrics) {
    lines += quoted(as_cell(key)) + "," + metric + "," + count_text(value);
    if (columns > kLeastColumns) lines += ",";
    lines += end;
  }
  return lines;
}

}  // namespace instr
