#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/base/csv.h"
#include "core/base/format.h"
#include "core/base/trim.h"
#include "core/compare/csv_reader.h"
#include "core/compare/expected_document.h"

namespace instr {
namespace {

constexpr std::string_view kExpectedColumnNames[kExpectedCsvColumns] = {"key", "metric", "expected",
                                                                        "margin"};
constexpr std::size_t kLeastColumns = 3;  // the margin may be omitted

class CountReader : private CsvReader {
 public:
  explicit CountReader(const SourceText& source) : CsvReader(source) {}

  tl::expected<ExpectedDocument, Errors> read() {
    if (Errors errors = read_all(); !errors.empty()) return tl::unexpected(std::move(errors));
    return std::move(document_);
  }

 private:
  bool read_header(const CsvRecord& header) override {
    const auto& fields = header.fields;
    const std::string advice = fmt::format("the first line is `{}`", kExpectedCsvHeader);
    for (std::size_t i = 0; i < std::min(fields.size(), kExpectedCsvColumns); ++i) {
      if (trim(fields[i].text) == kExpectedColumnNames[i]) continue;
      return refuse(fields[i].span.begin,
                    fmt::format("column {} is `{}` and not `{}`", i + 1, printable(fields[i].text),
                                kExpectedColumnNames[i]),
                    advice);
    }
    if (fields.size() < kLeastColumns) {
      return refuse(fields.back().span.end,
                    fmt::format("there is no column `{}`", kExpectedColumnNames[fields.size()]),
                    advice);
    }
    if (fields.size() > kExpectedCsvColumns) {
      return refuse(fields[kExpectedCsvColumns].span.begin, "there is a fifth column", advice);
    }
    document_.columns = fields.size();
    return true;
  }

  void read_record(const CsvRecord& record) override {
    const auto& fields = record.fields;
    if (fields.size() < kLeastColumns || fields.size() > document_.columns) {
      refuse(record.lines.begin,
             fmt::format("this line has {}, and the header {}",
                         format_plural(fields.size(), "field"), document_.columns),
             "write for example `matmul/mm/n=64/eager/forward/t1/cpu,ir,12345`");
      return;
    }
    ExpectedCount count;
    count.key = from_cell(fields[0].text);
    if (count.key.empty()) {
      refuse(fields[0].span.begin, "the key is empty", "list shows all keys");
      return;
    }
    const bool has_metric = read_metric(fields[1], count.metric);
    const bool has_number = read_number(fields[2], count);
    const bool has_margin = fields.size() == kLeastColumns || read_margin(fields[3], count);
    if (!has_metric || !has_number || !has_margin || !is_first(fields[0], count)) return;
    document_.lines[count.key].push_back(record.lines);
    document_.counts.push_back(std::move(count));
  }

  bool read_number(const CsvField& field, ExpectedCount& count) {
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

  bool read_margin(const CsvField& field, ExpectedCount& count) {
    if (trim(field.text).empty()) return true;
    auto margin = parse_limit(from_cell(field.text));
    if (!margin) {
      return refuse(field.span.begin, printable(margin.error().what),
                    std::move(margin.error().advice));
    }
    count.margin = *margin;
    return true;
  }

  bool is_first(const CsvField& field, const ExpectedCount& count) {
    const auto [known, is_new] = seen_.emplace(std::pair(count.key, count.metric), line_of(field));
    if (is_new) return true;
    return refuse(field.span.begin,
                  fmt::format("`{}` has two counts of `{}`; the first is on line {}",
                              printable(count.key), count.metric, known->second),
                  "remove one of them");
  }

  ExpectedDocument document_;
  std::map<std::pair<std::string, std::string>, int> seen_;
};

}  // namespace

tl::expected<ExpectedDocument, Errors> parse_expected_csv(const SourceText& source) {
  return CountReader(source).read();
}

std::string expected_csv_lines(std::size_t columns, const std::string& key,
                               const MetricValues& metrics, std::string_view end) {
  std::string lines;
  for (const auto& [metric, value] : metrics) {
    lines += csv_field(key) + "," + metric + "," + count_text(value);
    if (columns > kLeastColumns) lines += ",";
    lines += end;
  }
  return lines;
}

}  // namespace instr
