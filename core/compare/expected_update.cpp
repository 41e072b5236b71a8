#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "core/base/format.h"
#include "core/base/replace_file.h"
#include "core/base/trim.h"
#include "core/compare/expected_counts.h"
#include "core/compare/expected_document.h"
#include "core/compare/text_edits.h"

namespace instr {
namespace {

namespace fs = std::filesystem;

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
    std::vector<TextEdit> edits = removals_of(source_.text(), std::move(gone));
    for (const ExpectedCount& count : document_.counts) change(count, edits);
    update_.text = edited(source_.text(), std::move(edits));
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
    end_last_line(text, end_);
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

  const SourceText& source_;
  const ExpectedDocument& document_;
  const std::vector<Measurement>& measurements_;
  const std::vector<std::string> metrics_ = metrics_of_file();
  const std::string_view end_ = line_end_of(source_.text());
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

tl::expected<ExpectedUpdate, Errors> update_in_place(const fs::path& file,
                                                     const Update& update_of) {
  const fs::path target = follow_links(file);
  std::error_code error;
  const bool is_there = fs::exists(target, error);
  const auto source = is_there ? SourceText::read(file) : SourceText(file.string(), "");
  if (!source) return tl::unexpected(Errors{source.error()});
  auto update = update_of(*source);
  if (!update || (update->changed == 0 && update->added == 0 && update->removed == 0))
    return update;
  if (auto written = replace_file(target, update->text); !written) {
    return tl::unexpected(Errors{written.error()});
  }
  return update;
}

tl::expected<ExpectedUpdate, Errors> update_expected_file(
    const fs::path& file, const std::vector<Measurement>& measurements,
    const IsSelected& is_selected) {
  return update_in_place(file, [&](const SourceText& source) {
    return update_expected_counts(source, measurements, is_selected);
  });
}

}  // namespace instr
