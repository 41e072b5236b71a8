// A file of expected counts as written: each count with the place of its number, so that the file
// can be updated without touching anything else. Each of its two formats has a part of its own.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/source_text.h"
#include "core/compare/text_edits.h"
#include "core/definitions/limit.h"

namespace instr {

struct ExpectedCount {
  std::string key;
  std::string metric;
  double value = 0;  // finite, not negative
  std::optional<Limit> margin;
  TextSpan number;  // the value's text, without quotes
};

struct ExpectedDocument {
  std::vector<ExpectedCount> counts;  // in the order written
  // By key: the whole lines, with their ends, that are removed with the key.
  std::map<std::string, std::vector<TextSpan>> lines;
  std::size_t columns = 0;  // of a CSV; 0 if it has no header yet
};

using MetricValues = std::vector<std::pair<std::string, double>>;

// key,metric,expected,margin
// "matmul/mm/n=64/eager/forward/t1/cpu",ir,12345,0.5%|+10
// Quoted as in RFC 4180. The margin may be empty or omitted; a line that begins with `#` is a
// comment.
tl::expected<ExpectedDocument, Errors> parse_expected_csv(const SourceText& source);

// The lines of a new key, each ended by `end`, for a file with that many columns.
std::string expected_csv_lines(std::size_t columns, const std::string& key,
                               const MetricValues& metrics, std::string_view end);

inline constexpr std::string_view kExpectedCsvHeader = "key,metric,expected,margin";
inline constexpr std::size_t kExpectedCsvColumns = 4;

// ["matmul/mm/n=64/eager/forward/t1/cpu"]
// ir = 12345
// margin = { ir = "0.5%|+10" }
tl::expected<ExpectedDocument, Errors> parse_expected_toml(const SourceText& source);

std::string expected_toml_lines(const std::string& key, const MetricValues& metrics,
                                std::string_view end);

// For a file in either format, by the extension of its name: .csv or .toml.
tl::expected<ExpectedDocument, Errors> parse_expected_document(const SourceText& source);

bool is_csv(const SourceText& source);

// A count as written: the shortest text that reads as the same number.
std::string count_text(double value);

}  // namespace instr
