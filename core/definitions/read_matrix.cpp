#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "core/base/format.h"
#include "core/definitions/expand.h"
#include "core/definitions/read_benchmark.h"
#include "core/definitions/signature.h"

namespace instr {
namespace {

std::string format_float(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string format_value(const toml::node& value) {
  if (const auto* integer = value.as_integer()) return std::to_string(integer->get());
  if (const auto* number = value.as_floating_point()) return format_float(number->get());
  if (const auto* boolean = value.as_boolean()) return boolean->get() ? "true" : "false";
  return value.as_string()->get();
}

std::size_t size_of(const toml::node& values) {
  return values.is_array() ? values.as_array()->size() : 1;
}

// Returns false, after adding an error, if the value cannot be used.
bool check_value(const TableReader& benchmark, const toml::node& value, const std::string& text,
                 const SourceLocation& where) {
  const auto* number = value.as_floating_point();
  if (number && !std::isfinite(number->get())) {
    benchmark.add_error(where, fmt::format("{} has no literal in C++", text),
                        "write it as code, in quotes");
    return false;
  }
  if (!is_plain_line(text)) {
    benchmark.add_error(where, "this value has an invisible character",
                        "values are a part of the key: one line of plain text");
    return false;
  }
  return true;
}

std::vector<std::string> read_values(const TableReader& benchmark, const TomlEntry& entry,
                                     const SourceText& source) {
  std::vector<std::string> result;
  std::unordered_set<std::string> seen;
  const auto add = [&](const toml::node& value) {
    std::string text = format_value(value);
    const SourceLocation where = toml_location(value, source);
    if (!check_value(benchmark, value, text, where)) return;
    if (!seen.insert(text).second) {
      benchmark.add_error(where, fmt::format("`matrix.{}` has {} twice", entry.name, text),
                          "name each value once");
      return;
    }
    result.push_back(std::move(text));
  };
  if (const toml::array* list = entry.value->as_array()) {
    for (const toml::node& value : *list) add(value);
  } else {
    add(*entry.value);
  }
  return result;
}

std::string format_variant_count(std::uint64_t count) {
  return count == std::numeric_limits<std::uint64_t>::max() ? "more than 10^19"
                                                            : std::to_string(count);
}

}  // namespace

std::vector<std::pair<std::string, std::vector<std::string>>> read_matrix(
    const TableReader& benchmark, const SourceText& source, std::uint64_t variants_of_point) {
  const toml::table* table = benchmark.table("matrix");
  if (!table) return {};
  const std::vector<TomlEntry> entries = list_entries(*table, source);
  std::uint64_t count = std::max<std::uint64_t>(variants_of_point, 1);
  for (const TomlEntry& entry : entries) {
    if (!is_identifier(entry.name)) {
      benchmark.add_error(entry.where,
                          fmt::format("`{}` is not a valid parameter name", entry.name),
                          "use letters, digits and _, and do not begin with a digit");
    }
    if (size_of(*entry.value) == 0) {
      benchmark.add_error(entry.where, fmt::format("`matrix.{}` is an empty list", entry.name),
                          "add a value, or leave the parameter out");
    }
    count = saturating_product(count, std::max<std::size_t>(size_of(*entry.value), 1));
  }
  if (count > kMaxVariantsPerBenchmark) {
    benchmark.refuse(
        "matrix",
        fmt::format("the matrix makes {} variants, more than the {} allowed for one benchmark",
                    format_variant_count(count), kMaxVariantsPerBenchmark),
        "give it fewer values, or split it into several benchmarks");
    return {};
  }
  std::vector<std::pair<std::string, std::vector<std::string>>> matrix;
  for (const TomlEntry& entry : entries)
    matrix.emplace_back(entry.name, read_values(benchmark, entry, source));
  return matrix;
}

}  // namespace instr
