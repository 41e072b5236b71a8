// Uses of a history that meets bad files, disks and other processes.
#pragma once

#include <functional>
#include <random>
#include <tuple>

#include "core/history/read.h"
#include "core/history/record.h"
#include "core/report/formats.h"
#include "core/report/history_tables.h"
#include "core/report/html_page.h"
#include "tests/unit/history_testing.h"

namespace instr::testing {

using Points = std::vector<std::pair<int, double>>;

// A use of a history, as a command makes it.
struct Use {
  const char* name;
  SqlAccess access;
  std::function<Expected<void>(const SqlDatabase&)> run;

  Expected<void> try_on(const fs::path& file) const {
    return open_history(file, access).and_then([this](SqlDatabase&& database) {
      return run(database);
    });
  }
};

// Renders the table in all formats.
inline void show(const DocumentTable& table) {
  Document document{.tables = {table}};
  add_records(document, table);
  for (const ReportFormat format : document_formats()) render(format, document);
}

inline Expected<void> show_steps(const SqlDatabase& database) {
  TRY_ASSIGN(const auto steps, read_steps(database, {}, std::nullopt, true));
  TRY(steps_table(database, steps, {}).map(show));
  TRY_ASSIGN(const auto breaks, read_breaks(database, {}));
  break_lines(breaks);
  return {};
}

inline Expected<void> make_report(const SqlDatabase& database) {
  return report_of_history(database, {}, {}).map([](const ReportData& data) {
    report_page(data, "2026-01-02T03:04:05Z");
  });
}

inline Expected<void> make_issue(const SqlDatabase& database) {
  TRY_ASSIGN(const auto steps, read_steps(database, {}, std::nullopt, false));
  if (steps.empty()) return {};
  return growth_issue(database, steps, {}).map([](auto&&) {});
}

inline Expected<void> merge_from(const SqlDatabase& database) {
  const auto merged = open_history(":memory:", SqlAccess::kCreate);
  TRY_ASSIGN(const auto runs, read_runs(database));
  return record(*merged, runs, OnContradiction::kRefuse).map([](auto&&) {});
}

inline const std::vector<Use>& uses() {
  static const std::vector<Use> all{
      {"list", SqlAccess::kRead,
       [](const SqlDatabase& database) {
         return read_series(database, {}).map([](const auto& series) {
           show(series_table(series));
         });
       }},
      {"steps", SqlAccess::kRead, show_steps},
      {"export", SqlAccess::kRead,
       [](const SqlDatabase& database) {
         return for_each_point(database, {}, [](const HistoryPoint& point) {
           show(points_table(point));
           return true;
         });
       }},
      {"report", SqlAccess::kRead, make_report},
      {"issue", SqlAccess::kRead, make_issue},
      {"merge", SqlAccess::kRead, merge_from},
      {"add", SqlAccess::kCreate,
       [](const SqlDatabase& database) {
         return record(database, {make_run(99, {{"a", 20}, {"new", 20}})}, OnContradiction::kRefuse)
             .map([](auto&&) {});
       }},
      {"prune", SqlAccess::kWrite,
       [](const SqlDatabase& database) {
         return prune(database, commit(3).place(), std::nullopt).and_then([&](auto&&) {
           return compact(database);
         });
       }},
  };
  return all;
}

// Expects an error at that file, with these words and advice.
inline void expect_says(const Error& error, const fs::path& file, const std::string& words) {
  EXPECT_EQ(error.where.file, file.string()) << to_string(error);
  EXPECT_NE(error.what.find(words), std::string::npos) << to_string(error);
  EXPECT_FALSE(error.advice.empty()) << to_string(error);
}

class HistoryFaults : public HistoryTest {
 protected:
  static std::map<std::string, double> many(int position, int keys = 20) {
    std::map<std::string, double> values;
    for (int i = 0; i < keys; ++i) {
      values[fmt::format("key {}", i)] = 20 + i + (i % 7 == position ? 5 : 0);
    }
    values[position < 3 ? "old" : "new"] = 20;
    return values;
  }

  // Fills the history with some of everything it can contain, much of it on several pages.
  void fill() const {
    std::mt19937 random(7);
    for (int position = 1; position <= 4; ++position) {
      HistoryRun run = make_run(position, many(position), "main",
                                position < 4 ? R"([["compiler","12"]])" : R"([["compiler","13"]])");
      for (int i = 0; i < 2; ++i) {
        const std::vector<double> repetitions(400, 1.5 + position);
        run.values.push_back(
            {fmt::format("time {}", i), kWall, false, 0, 1.5 + position, repetitions});
        run.outcomes.push_back({fmt::format("fails {}", i), kFailedState, std::string(5000, 'r')});
      }
      std::vector<FunctionCost> wide;
      for (int i = 0; i < 400; ++i) {
        wide.push_back({fmt::format("f{}", i), "libuser.so", static_cast<double>(random()), 1});
      }
      run.functions = [wide, usual = run.functions](const std::string& key) {
        return key == "key 1" ? Expected<std::vector<FunctionCost>>(wide) : usual(key);
      };
      add(run);
    }
  }

  // Returns all values with their commits, in their order.
  std::vector<std::tuple<std::string, std::string, double>> points() const {
    std::vector<std::tuple<std::string, std::string, double>> all;
    const auto read = for_each_point(open(SqlAccess::kRead), {}, [&all](const HistoryPoint& point) {
      all.emplace_back(point.series.key, point.commit.hash, point.value);
      return true;
    });
    EXPECT_TRUE(read) << to_string(read.error());
    return all;
  }

  void expect_whole() const {
    const SqlDatabase database = open(SqlAccess::kRead);
    auto check = database.prepare("PRAGMA integrity_check");
    EXPECT_TRUE(check.step());
    EXPECT_EQ(check.text(0), "ok");
    EXPECT_EQ(database.integer("SELECT count(*) FROM pragma_foreign_key_check"), 0);
  }

  fs::path journal() const { return file().string() + "-journal"; }
};

}  // namespace instr::testing
