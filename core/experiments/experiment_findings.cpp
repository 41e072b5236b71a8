#include "core/experiments/experiment_findings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>

#include "core/base/format.h"
#include "core/definitions/variant.h"
#include "core/experiments/experiment_summary.h"

namespace instr {

namespace {

constexpr std::size_t kMaxTextLength = 100;  // in a cell

const TableCell kNothing{"-", Tone::kDim};

// An experiment's name as in a table of one column.
std::string title_of(const ExperimentRecord& record) {
  const VariantName name = name_variant(record.variant);
  return name.full + ", " + name.column;
}

GridRow row_of(const ExperimentRecord& record, std::vector<TableCell> cells) {
  const std::string title = title_of(record);
  return {title, title, std::move(cells)};
}

TableCell speedup_cell(const AgainstEager& one) {
  if (!one.speedup) return kNothing;
  const bool is_slower = one.speedup->ratio < kMinSpeedup && !one.speedup->is_same();
  return {to_string(*one.speedup), is_slower ? Tone::kWarning : Tone::kPlain};
}

TableCell seconds_cell(const std::optional<double>& seconds) {
  return seconds ? TableCell{format_time(*seconds * 1e9)} : kNothing;
}

TableCell memory_cell(const AgainstEager& one) {
  return one.memory_ratio ? TableCell{fmt::format("{:.2f}x", *one.memory_ratio)} : kNothing;
}

bool is_failed(const AgainstEager& one) {
  return one.record->state == ExperimentState::kFailed ||
         Verification{one.record->code, ""}.is_wrong();
}

std::string failure_reason(const ExperimentRecord& record) {
  const std::string& reason =
      record.state == ExperimentState::kFailed ? record.reason : record.code_reason;
  return shorten_end(printable(reason), kMaxTextLength);
}

std::map<std::string, std::uint64_t> unlowered_by(const ExperimentRecord& record) {
  return record.compiler ? record.compiler->unlowered : std::map<std::string, std::uint64_t>();
}

// "aten::nonzero, aten::_unique2"
std::string names_of(const std::map<std::string, std::uint64_t>& counts) {
  std::vector<std::string> names;
  for (const auto& [name, count] : counts) names.push_back(name);
  return shorten_end(printable(fmt::format("{}", fmt::join(names, ", "))), kMaxTextLength);
}

// A kind of finding.
struct Kind {
  std::string title;
  std::vector<std::string> columns;
  // How bad it is, the worse the more; nothing: it is none.
  std::function<std::optional<double>(const AgainstEager&)> badness;
  std::function<std::vector<TableCell>(const AgainstEager&)> cells;
};

Kind kind_unlowered() {
  return {"operators that the compiler left to LibTorch",
          {"operators"},
          [](const AgainstEager& one) -> std::optional<double> {
            const auto unlowered = unlowered_by(*one.record);
            if (unlowered.empty()) return std::nullopt;
            return static_cast<double>(unlowered.size());
          },
          [](const AgainstEager& one) {
            return std::vector{TableCell{names_of(unlowered_by(*one.record))}};
          }};
}

std::vector<Kind> kinds() {
  return {{fmt::format("slower than {}x", kMinSpeedup),
           {"speed-up"},
           [](const AgainstEager& one) -> std::optional<double> {
             const auto& found = one.speedup;
             if (!found || found->is_same() || found->ratio >= kMinSpeedup) return std::nullopt;
             return 1 / found->ratio;
           },
           [](const AgainstEager& one) { return std::vector{speedup_cell(one)}; }},
          {fmt::format("compiled longer than {} s", kMaxCompileTime),
           {"compile time"},
           [](const AgainstEager& one) -> std::optional<double> {
             if (one.compile_time.value_or(0) <= kMaxCompileTime) return std::nullopt;
             return one.compile_time;
           },
           [](const AgainstEager& one) { return std::vector{seconds_cell(one.compile_time)}; }},
          {fmt::format("more memory than 1/{} of eager's", kMinMemoryRatio),
           {"memory saved"},
           [](const AgainstEager& one) -> std::optional<double> {
             if (one.memory_ratio.value_or(1) >= kMinMemoryRatio) return std::nullopt;
             return 1 / *one.memory_ratio;
           },
           [](const AgainstEager& one) { return std::vector{memory_cell(one)}; }},
          kind_unlowered(),
          {"failed",
           {"code", "reason"},
           [](const AgainstEager& one) -> std::optional<double> {
             return is_failed(one) ? std::optional(0.0) : std::nullopt;
           },
           [](const AgainstEager& one) {
             const bool has_code = !one.is_eager() && one.record->code != VerificationCode::kPass;
             return std::vector{
                 has_code ? TableCell{to_string(one.record->code), Tone::kBad} : kNothing,
                 TableCell{failure_reason(*one.record)}};
           }}};
}

Findings findings_of(const Kind& kind, const std::vector<AgainstEager>& all) {
  std::vector<std::pair<double, const AgainstEager*>> found;
  for (const AgainstEager& one : all) {
    if (auto badness = kind.badness(one)) found.emplace_back(*badness, &one);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& left, const auto& right) { return left.first > right.first; });
  Findings findings{kind.title, {}};
  for (const std::string& column : kind.columns) findings.grid.columns.push_back({column});
  for (std::size_t i = 0; i < std::min(found.size(), kMaxFindings); ++i) {
    const AgainstEager& one = *found[i].second;
    GridRow row = row_of(*one.record, kind.cells(one));
    findings.grid.groups.push_back({row.full_name, {std::move(row)}});
  }
  if (found.size() > kMaxFindings) {
    findings.grid.footnotes.push_back(fmt::format("and {} more", found.size() - kMaxFindings));
  }
  return findings;
}

}  // namespace

std::vector<Findings> findings_among(const std::vector<ExperimentRecord>& records) {
  const std::vector<AgainstEager> all = against_eager(records);
  std::vector<Findings> any;
  for (const Kind& kind : kinds()) {
    Findings findings = findings_of(kind, all);
    if (!findings.grid.groups.empty()) any.push_back(std::move(findings));
  }
  return any;
}

Grid each_experiment_grid(const std::vector<ExperimentRecord>& records) {
  Grid grid;
  grid.columns = {{"time"}, {"speed-up"}, {"compile time"}, {"memory saved"}, {"code"}};
  for (const AgainstEager& one : against_eager(records)) {
    if (one.is_eager()) continue;
    const auto& times = one.record->per_iter_times;
    const auto time = times.empty() ? std::nullopt : std::optional(median(times));
    const Tone tone = one.has_passed() ? Tone::kGood : Tone::kWarning;
    GridRow row = row_of(*one.record, {seconds_cell(time),
                                       speedup_cell(one),
                                       seconds_cell(one.compile_time),
                                       memory_cell(one),
                                       {to_string(one.record->code), tone}});
    grid.groups.push_back({row.full_name, {std::move(row)}});
  }
  return grid;
}

}  // namespace instr
