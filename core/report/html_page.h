// The values of an HTML report: benchmarks, and a column for each commit of a history or for each
// file of results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/compare/accepted.h"
#include "core/compare/attribution.h"
#include "core/compare/compare.h"
#include "core/history/read.h"
#include "core/history/timeline.h"
#include "core/profile/call_tree.h"
#include "core/report/document.h"
#include "core/results/result_set.h"
#include "core/results/significance.h"

namespace instr {

struct ReportColumn {
  std::string branch;         // "" for a file
  std::string id;             // the whole hash; the file
  std::string name;           // the name that the page shows
  std::int64_t position = 0;  // the position of the commit or file
  std::int64_t time = 0;      // seconds since 1970; 0: unknown
  std::string subject;
  std::vector<Timeline::Run> runs;  // each with the exact series that it measured
};

struct ReportValue {
  std::size_t column = 0;  // index into ReportData::columns
  double value = 0;
};

struct ReportChange {
  std::size_t column = 0;
  MetricChange change;         // judged
  bool is_regression = false;  // a step beyond its limit, neither accepted nor undone since
  std::optional<Attribution> attribution = {};
  std::shared_ptr<const AlignedTrees> trees = {};  // set if the call paths of both are known
  std::int64_t other_candidates = 0;               // commits before it that were not measured
};

struct ReportSeries : HistorySeries {
  // Exact series: the first value and each that differs; others: one for each measurement.
  std::vector<ReportValue> values;
  std::vector<ReportChange> changes;
  // The options that name the definitions of the last measurement.
  std::vector<std::string> definitions = {};
  std::size_t last = 0;  // the last column at which it was measured
  // The logarithm of each value but the first over the value before it; 0 if there is none.
  std::vector<double> logs = {};
  // The logarithm of eager's last value over this one's, in the series that was measured last.
  std::optional<double> against_eager = {};
};

// A key of another backend than eager on a branch.
struct ReportBackend {
  std::string key;
  std::string branch;
  // Columns, and the logarithms of the speed-ups over eager there; none where it failed.
  std::vector<std::pair<std::size_t, double>> speedups = {};
  std::optional<double> compile_time = {};  // nanoseconds, the last
};

// Series that are measured differently from a column on.
struct ReportBreak {
  std::size_t column = 0;
  std::size_t series = 0;  // number of series
  std::vector<std::string> reasons;
};

struct ReportOutcome : RunOutcome {
  std::size_t column = 0;
};

// The state after which changes are new, such as the last release.
struct ReportSince {
  std::string name;
  std::map<std::string, std::size_t> columns;  // branch -> column
};

struct ReportExperiment {
  std::string key;
  std::string model;               // the name in tables, without the backend
  std::string backend;             // the rest of that name: "Python Inductor fwd+bwd"
  std::optional<std::size_t> row;  // index into the summary's rows; nothing: it was skipped
  std::optional<Speedup> speedup;  // the speed-up over eager, if it passed
  std::vector<std::pair<std::string, std::string>> facts;  // names and texts, printable
  std::vector<DocumentTable> lists;                        // graph breaks, operators, ...
};

// The summary of experiments. Rows of `findings` and `each` have the key as their first value.
struct ReportExperiments {
  std::string conclusion;               // "12 experiments: 10 measured, 2 failed"
  DocumentTable summary;                // a row for each suite, test, ... and backend
  std::vector<DocumentTable> findings;  // a table of each kind, the worst first
  DocumentTable each;                   // every experiment but eager's
  std::vector<ReportExperiment> list;   // all, by key
};

struct ReportData {
  std::string title;
  std::string history = {};           // the option that names it, unless it is the project's
  std::vector<ReportColumn> columns;  // sorted by branch, the oldest first
  std::vector<ReportSeries> series;
  std::vector<ReportBackend> backends = {};
  std::vector<ReportBreak> breaks;
  std::vector<ReportOutcome> outcomes;
  std::optional<ReportSince> since;
  std::optional<ReportExperiments> experiments;
};

// A report of files of results, the oldest first, as of a history of them. `vary`: fields that may
// differ between them (--vary of compare).
Expected<ReportData> report_of_files(const std::vector<ResultSet>& files,
                                     const std::vector<std::string>& vary,
                                     const Acceptances& accepted);

Expected<ReportData> report_of_history(const SqlDatabase& database, const SeriesChoice& choice,
                                       const Acceptances& accepted);

nlohmann::ordered_json experiments_json(const ReportExperiments& experiments);

// The data of the page, which docs/FORMATS.md describes.
nlohmann::ordered_json report_json(const ReportData& data);

// An HTML file that needs neither a server nor a network. `made`: the time, UTC.
std::string report_page(const ReportData& data, const std::string& made);

}  // namespace instr
