#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <tuple>

#include "core/base/format.h"
#include "core/base/replace_file.h"
#include "core/base/trim.h"
#include "core/compare/expected_counts.h"
#include "core/compare/expected_document.h"

namespace instr {
namespace {

namespace fs = std::filesystem;

struct TextEdit {
  TextSpan span;
  std::string text;  // replaces the span
};

std::string apply(std::string_view text, std::vector<TextEdit> edits) {
  std::sort(edits.begin(), edits.end(),
            [](const TextEdit& a, const TextEdit& b) { return a.span.begin < b.span.begin; });
  std::string result;
  std::size_t at = 0;
  for (const TextEdit& edit : edits) {
    result += text.substr(at, edit.span.begin - at);
    result += edit.text;
    at = edit.span.end;
  }
  return result += text.substr(at);
}

// The begin of the blank lines that end at `end`, and the end of those that begin at `begin`; both
// arguments are begins of lines.
std::size_t blank_begin(std::string_view text, std::size_t end) {
  const auto last = text.substr(0, end).find_last_not_of(" \t\r\n");
  if (last == std::string_view::npos) return 0;
  return std::min(text.find('\n', last), end - 1) + 1;
}

std::size_t blank_end(std::string_view text, std::size_t begin) {
  const auto first = text.find_first_not_of(" \t\r\n", begin);
  if (first == std::string_view::npos) return text.size();
  const auto newline = text.substr(0, first).rfind('\n');
  return newline == std::string_view::npos ? begin : std::max(begin, newline + 1);
}

// The lines, with one of the two runs of blank lines around them if there are two.
TextSpan with_blanks(std::string_view text, TextSpan lines) {
  const std::size_t begin = blank_begin(text, lines.begin);
  const std::size_t end = blank_end(text, lines.end);
  if (end == text.size()) return {begin, end};
  if (begin < lines.begin || begin == 0) return {lines.begin, end};
  return lines;
}

std::vector<TextEdit> removals(std::string_view text, std::vector<TextSpan> lines) {
  std::sort(lines.begin(), lines.end(),
            [](const TextSpan& a, const TextSpan& b) { return a.begin < b.begin; });
  std::vector<TextEdit> edits;
  for (std::size_t i = 0; i < lines.size();) {
    TextSpan joined = lines[i];
    while (++i < lines.size() && is_blank(text.substr(joined.end, lines[i].begin - joined.end))) {
      joined.end = lines[i].end;
    }
    edits.push_back({with_blanks(text, joined), ""});
  }
  return edits;
}

// A measurement's entries in a file of expected counts: by metric, the reproducible numbers.
std::map<std::string, double> exact_counts(const Measurement& measurement) {
  const auto* counted = std::get_if<Counted>(&measurement.outcome);
  if (counted == nullptr || !counted->gated || !counted->steady) return {};
  std::map<std::string, double> counts = counted->metrics;
  std::erase_if(counts,
                [](const auto& count) { return !std::isfinite(count.second) || count.second < 0; });
  return counts;
}

class Updater {
 public:
  Updater(const SourceText& source, const ExpectedDocument& document,
          const std::vector<Measurement>& measurements)
      : source_(source), document_(document), measurements_(measurements) {
    for (const Measurement& measurement : measurements) {
      measured_.emplace(measurement.variant.key, &measurement);
    }
  }

  ExpectedUpdate update(const IsSelected& is_selected) {
    std::vector<TextSpan> gone;
    for (const auto& [key, lines] : document_.lines) {
      if (measured_.contains(key) || !is_selected(key)) continue;
      gone.insert(gone.end(), lines.begin(), lines.end());
      ++update_.removed;
      gone_.insert(key);
    }
    std::vector<TextEdit> edits = removals(source_.text(), std::move(gone));
    for (const ExpectedCount& count : document_.counts) change(count, edits);
    update_.text = apply(source_.text(), std::move(edits));
    for (const Measurement& measurement : measurements_) add(measurement);
    return std::move(update_);
  }

  // The content that the updated file should have.
  const std::vector<ExpectedCount>& updated() const { return updated_; }

 private:
  void change(const ExpectedCount& count, std::vector<TextEdit>& edits) {
    if (gone_.contains(count.key)) return;
    ExpectedCount& entry = updated_.emplace_back(count);
    const auto measured = measured_.find(count.key);
    if (measured == measured_.end()) return;
    const auto counts = exact_counts(*measured->second);
    const auto now = counts.find(count.metric);
    if (now == counts.end() || now->second == count.value) return;
    entry.value = now->second;
    edits.push_back({count.number, count_text(now->second)});
    ++update_.changed;
  }

  void add(const Measurement& measurement) {
    const std::string& key = measurement.variant.key;
    if (document_.lines.contains(key) || key.empty() || !added_.insert(key).second) return;
    const auto counts = exact_counts(measurement);
    MetricValues values;
    for (const std::string& metric : metrics_) {
      if (const auto found = counts.find(metric); found != counts.end()) values.push_back(*found);
    }
    if (values.empty()) return;
    for (const auto& [metric, value] : values) {
      updated_.push_back({key, metric, value, std::nullopt, {}});
    }
    append(key, values);
    ++update_.added;
  }

  void append(const std::string& key, const MetricValues& values) {
    std::string& text = update_.text;
    // A last line that ends within its line end already has half of it.
    if (text.ends_with('\r')) text += '\n';
    if (!text.empty() && !text.ends_with('\n')) text += end_;
    if (is_csv(source_)) {
      if (columns_ == 0) {
        text += fmt::format("{}{}", kExpectedCsvHeader, end_);
        columns_ = kExpectedCsvColumns;
      }
      text += expected_csv_lines(columns_, key, values, end_);
      return;
    }
    if (!text.empty() && blank_begin(text, text.size()) == text.size()) text += end_;
    text += expected_toml_lines(key, values, end_);
  }

  // The file's metrics, in their order; all if it has none.
  std::vector<std::string> metrics_of_file() const {
    std::set<std::string> used;
    for (const ExpectedCount& count : document_.counts) used.insert(count.metric);
    std::vector<std::string> metrics = limit_metrics();
    if (!used.empty())
      std::erase_if(metrics, [&](const auto& name) { return !used.contains(name); });
    return metrics;
  }

  std::string_view line_end() const {
    const auto newline = source_.text().find('\n');
    const bool is_pair =
        newline != std::string_view::npos && newline > 0 && source_.text()[newline - 1] == '\r';
    return is_pair ? "\r\n" : "\n";
  }

  const SourceText& source_;
  const ExpectedDocument& document_;
  const std::vector<Measurement>& measurements_;
  const std::vector<std::string> metrics_ = metrics_of_file();
  const std::string_view end_ = line_end();
  std::size_t columns_ = document_.columns;
  std::map<std::string, const Measurement*> measured_;
  std::set<std::string> gone_;
  std::set<std::string> added_;
  std::vector<ExpectedCount> updated_;
  ExpectedUpdate update_;
};

bool says(const ExpectedDocument& document, std::vector<ExpectedCount> updated) {
  const auto sorted = [](std::vector<ExpectedCount> counts) {
    std::sort(counts.begin(), counts.end(), [](const ExpectedCount& a, const ExpectedCount& b) {
      return std::tie(a.key, a.metric) < std::tie(b.key, b.metric);
    });
    return counts;
  };
  const auto is_same = [](const ExpectedCount& a, const ExpectedCount& b) {
    return a.key == b.key && a.metric == b.metric && a.value == b.value && a.margin == b.margin;
  };
  const auto read = sorted(document.counts);
  updated = sorted(std::move(updated));
  return std::equal(read.begin(), read.end(), updated.begin(), updated.end(), is_same);
}

// Checks that the file reads back as intended: a key that is not UTF-8 would not.
Expected<void> check(const ExpectedUpdate& update, const std::string& name,
                     const std::vector<ExpectedCount>& updated) {
  const auto source = SourceText::checked(name, update.text);
  const auto document =
      source ? parse_expected_document(*source) : tl::unexpected(Errors{source.error()});
  if (document && says(*document, updated)) return {};
  const std::string why = document ? "" : ": " + document.error().front().what;
  return tl::unexpected(Error{{name},
                              "the new counts cannot be written into this file" + why,
                              "rename the benchmark, or change the file by hand"});
}

}  // namespace

std::string count_text(double value) {
  return fmt::format("{}", value + 0.0);  // -0 becomes 0
}

tl::expected<ExpectedUpdate, Errors> update_expected_counts(
    const SourceText& source, const std::vector<Measurement>& measurements,
    const IsSelected& is_selected) {
  const auto document = parse_expected_document(source);
  if (!document) return tl::unexpected(document.error());
  Updater updater(source, *document, measurements);
  ExpectedUpdate update = updater.update(is_selected);
  if (auto checked = check(update, source.path(), updater.updated()); !checked) {
    return tl::unexpected(Errors{checked.error()});
  }
  update.text.insert(0, source.byte_order_mark());
  return update;
}

tl::expected<ExpectedUpdate, Errors> update_expected_file(
    const fs::path& file, const std::vector<Measurement>& measurements,
    const IsSelected& is_selected) {
  const fs::path target = follow_links(file);
  std::error_code error;
  const bool is_there = fs::exists(target, error);
  const auto source = is_there ? SourceText::read(file) : SourceText(file.string(), "");
  if (!source) return tl::unexpected(Errors{source.error()});
  auto update = update_expected_counts(*source, measurements, is_selected);
  if (!update || (update->changed == 0 && update->added == 0 && update->removed == 0))
    return update;
  if (auto written = replace_file(target, update->text); !written) {
    return tl::unexpected(Errors{written.error()});
  }
  return update;
}

}  // namespace instr
