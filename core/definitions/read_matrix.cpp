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

class MatrixReader {
 public:
  MatrixReader(const TableReader& benchmark, const SourceText& source)
      : benchmark_(benchmark), source_(source) {}

  std::vector<std::string> read(const TomlEntry& entry) const {
    std::vector<std::string> result;
    std::unordered_set<std::string> seen;
    const auto add = [&](const toml::node& value) {
      std::string text = format_value(value);
      if (!check(value, text)) return;
      if (!seen.insert(text).second) {
        refuse(toml_location(value, source_),
               fmt::format("`matrix.{}` has {} twice", entry.name, text), "name each value once");
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

  void check_name(const TomlEntry& entry) const {
    if (is_identifier(entry.name)) return;
    refuse(entry.where, fmt::format("`{}` is not a valid parameter name", entry.name),
           "use letters, digits and _, and do not begin with a digit");
  }

  void refuse(SourceLocation where, std::string what, std::string advice) const {
    benchmark_.add_error(std::move(where), std::move(what), std::move(advice));
  }

 private:
  bool check(const toml::node& value, const std::string& text) const {
    const auto* number = value.as_floating_point();
    if (number && !std::isfinite(number->get())) {
      refuse(toml_location(value, source_), fmt::format("{} has no literal in C++", text),
             "write it as code, in quotes");
      return false;
    }
    if (!is_plain_line(text)) {
      refuse(toml_location(value, source_), "this value has an invisible character",
             "values are a part of the key: one line of plain text");
      return false;
    }
    return true;
  }

  const TableReader& benchmark_;
  const SourceText& source_;
};

std::string format_variant_count(std::uint64_t count) {
  return count == std::numeric_limits<std::uint64_t>::max() ? "more than 10^19"
                                                            : std::to_string(count);
}

}  // namespace

std::vector<std::pair<std::string, std::vector<std::string>>> read_matrix(
    const TableReader& benchmark, const SourceText& source, std::uint64_t variants_of_point) {
  const toml::table* table = benchmark.table("matrix");
  if (!table) return {};
  const MatrixReader reader(benchmark, source);
  const std::vector<TomlEntry> entries = list_entries(*table, source);
  std::uint64_t count = std::max<std::uint64_t>(variants_of_point, 1);
  for (const TomlEntry& entry : entries) {
    reader.check_name(entry);
    if (size_of(*entry.value) == 0) {
      reader.refuse(entry.where, fmt::format("`matrix.{}` is an empty list", entry.name),
                    "add a value, or leave the parameter out");
    }
    count = saturating_product(count, std::max<std::size_t>(size_of(*entry.value), 1));
  }
  if (count > kMaxVariantsPerBenchmark) {
    reader.refuse(
        benchmark.place("matrix"),
        fmt::format("the matrix makes {} variants, more than the {} allowed for one benchmark",
                    format_variant_count(count), kMaxVariantsPerBenchmark),
        "give it fewer values, or split it into several benchmarks");
    return {};
  }
  std::vector<std::pair<std::string, std::vector<std::string>>> matrix;
  for (const TomlEntry& entry : entries) matrix.emplace_back(entry.name, reader.read(entry));
  return matrix;
}

}  // namespace instr
