#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/format.h"
#include "core/compare/expected_document.h"
#include "core/definitions/read_limits.h"

namespace instr {
namespace {

constexpr const char* kExample =
    "write for example [\"matmul/mm/n=64/eager/forward/t1/cpu\"] and below it `ir = 12345`";

// The metrics and `margin`.
std::vector<Key> entry_keys() {
  static const std::vector<std::string> kExamples = [] {
    std::vector<std::string> examples;
    for (const std::string& metric : limit_metrics()) examples.push_back(metric + " = 12345");
    return examples;
  }();
  std::vector<Key> keys;
  for (std::size_t i = 0; i < limit_metrics().size(); ++i) {
    keys.push_back({limit_metrics()[i], Shape::kNumber, kExamples[i]});
  }
  keys.push_back({"margin", Shape::kTable, "margin = { ir = \"0.5%\" }"});
  return keys;
}

struct Lines {  // from 1; both are among them
  int first;
  int last;
  const std::string* key;
};

class TomlReader {
 public:
  explicit TomlReader(const SourceText& source) : source_(source) {}

  tl::expected<ExpectedDocument, Errors> read() {
    const auto table = parse_toml(source_);
    if (!table) return tl::unexpected(Errors{table.error()});
    const std::vector<TomlEntry> entries = written_order(*table, source_);
    for (const TomlEntry& entry : entries) read_key(entry);
    add_lines();
    if (errors_.empty()) return std::move(document_);
    sort_by_place(errors_);
    return tl::unexpected(std::move(errors_));
  }

 private:
  void read_key(const TomlEntry& entry) {
    const toml::table* table = entry.value->as_table();
    if (!table) {
      errors_.push_back({entry.where,
                         fmt::format("`{}` must be a table, not {}", printable(entry.name),
                                     kind_of(*entry.value)),
                         kExample});
      return;
    }
    const std::string title = fmt::format("[\"{}\"]", printable(entry.name));
    const TableReader read(*table, title, keys_, source_, errors_);
    std::map<std::string, Limit> margins;
    if (const toml::table* given = read.table("margin")) {
      margins = read_limits(*given, "`margin`", source_, errors_);
    }
    read_counts(entry, read, margins);
    for (const auto& [metric, margin] : margins) {
      if (read.has(metric)) continue;
      read.add_error(read.place("margin"),
                     fmt::format("{} has a margin of `{}` but no count of it", title, metric),
                     fmt::format("add `{} = ...`, or remove the margin", metric));
    }
    const std::string& key = document_.lines.try_emplace(entry.name).first->first;
    take_lines(key, entry.where.line, *table);
  }

  void read_counts(const TomlEntry& entry, const TableReader& read,
                   const std::map<std::string, Limit>& margins) {
    bool has_any = false;
    for (const std::string& metric : limit_metrics()) {
      has_any = has_any || read.has(metric);
      const toml::node* node = read.get(metric);
      if (!node) continue;
      // toml++ does not convert integers that a double cannot hold exactly.
      const double value = node->is_integer() ? static_cast<double>(node->as_integer()->get())
                                              : node->as_floating_point()->get();
      if (!std::isfinite(value) || value < 0) {
        read.add_error(read.place(metric),
                       fmt::format("`{}` is {}", metric, value < 0 ? "negative" : "not a count"),
                       "write a number of 0 or more, such as `12345` or `12.5`");
        continue;
      }
      const auto margin = margins.find(metric);
      document_.counts.push_back(
          {entry.name, metric, value,
           margin == margins.end() ? std::nullopt : std::optional(margin->second),
           number_span(read.place(metric))});
    }
    if (!has_any) {
      errors_.push_back({entry.where,
                         fmt::format("there is not a count of `{}`", printable(entry.name)),
                         kExample});
    }
  }

  TextSpan number_span(const SourceLocation& where) const {
    const std::string_view text = source_.text();
    const std::size_t begin = source_.offset(where.line, where.column);
    std::size_t end = begin;
    const auto is_in_number = [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
             c == '_' || c == '.' || c == '+' || c == '-';
    };
    while (end < text.size() && is_in_number(text[end])) ++end;
    return {begin, end};
  }

  // The lines of a table's header and of its values, wherever they are.
  void take_lines(const std::string& key, int header, const toml::table& table) {
    lines_.push_back({header, header, &key});
    const auto begin = table.source().begin;
    lines_.push_back({static_cast<int>(begin.line), static_cast<int>(begin.line), &key});
    for (const auto& [name, value] : table) {
      const int first = static_cast<int>(name.source().begin.line);
      if (const toml::table* inner = value.as_table()) {
        take_lines(key, first, *inner);
      } else {
        lines_.push_back({first, static_cast<int>(value.source().end.line), &key});
      }
    }
  }

  // Lines between two lines of a key, such as comments, also belong to the key.
  void add_lines() {
    std::sort(lines_.begin(), lines_.end(),
              [](const Lines& a, const Lines& b) { return a.first < b.first; });
    for (std::size_t i = 0; i < lines_.size();) {
      Lines joined = lines_[i];
      while (++i < lines_.size() && lines_[i].key == joined.key) {
        joined.last = std::max(joined.last, lines_[i].last);
      }
      document_.lines[*joined.key].push_back(
          {source_.offset(joined.first, 1), source_.offset(joined.last + 1, 1)});
    }
  }

  const SourceText& source_;
  const std::vector<Key> keys_ = entry_keys();
  Errors errors_;
  ExpectedDocument document_;
  std::vector<Lines> lines_;
};

// As a basic string.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      result += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
    } else {
      result += c;
    }
  }
  return result + '"';
}

}  // namespace

tl::expected<ExpectedDocument, Errors> parse_expected_toml(const SourceText& source) {
  return TomlReader(source).read();
}

std::string expected_toml_lines(const std::string& key, const MetricValues& metrics,
                                std::string_view end) {
  std::string lines = fmt::format("[{}]{}", quoted(key), end);
  for (const auto& [metric, value] : metrics) {
    lines += fmt::format("{} = {}{}", metric, count_text(value), end);
  }
  return lines;
}

}  // namespace instr
