#include "core/compare/csv_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/base/format.h"
#include "core/base/near_match.h"
#include "core/base/trim.h"
#include "core/definitions/limit.h"

namespace instr {

bool is_csv(const SourceText& source) {
  return std::filesystem::path(source.path()).extension() == ".csv";
}

Errors CsvReader::read_all() {
  const auto header = scanner_.next();
  if (!header) {
    head_ = scanner_.comment();
    return std::move(errors_);
  }
  head_ = header->comment;
  if (read_header(*header)) {
    while (const auto record = scanner_.next()) read_record(*record);
  }
  tail_ = scanner_.comment();
  return std::move(errors_);
}

bool CsvReader::refuse(std::size_t at, std::string what, std::string advice) {
  errors_.push_back({source_.place(at), std::move(what), std::move(advice)});
  return false;
}

bool CsvReader::read_metric(const CsvField& field, std::string& metric) {
  metric = trim(field.text);
  const auto& known = limit_metrics();
  if (std::find(known.begin(), known.end(), metric) != known.end()) return true;
  return refuse(field.begin, fmt::format("unknown metric `{}`", printable(metric)),
                did_you_mean(metric, known));
}

}  // namespace instr
