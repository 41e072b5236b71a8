#include "core/history/record.h"

#include <fmt/format.h>

#include <sstream>

#include "core/base/format.h"
#include "core/history/run_writer.h"

namespace instr {

namespace {

std::string vary_text(const std::vector<std::string>& vary) {
  return fmt::format("{}", fmt::join(vary, ","));
}

std::vector<std::string> vary_from(const std::string& text) {
  std::vector<std::string> vary;
  std::istringstream items(text);
  for (std::string item; std::getline(items, item, ',');) vary.push_back(item);
  return vary;
}

// Nothing of a history without runs, which may still be used with another.
std::optional<std::string> recorded_vary(const SqlDatabase& database) {
  auto setting = database.prepare(
      "SELECT value FROM settings WHERE name = 'vary' AND EXISTS (SELECT 1 FROM runs)");
  return setting.start().step() ? std::optional(setting.text(0)) : std::nullopt;
}

Expected<void> settle_vary(const SqlDatabase& database, const std::string& vary) {
  const auto recorded = recorded_vary(database);
  if (!recorded) {
    database.prepare("INSERT OR REPLACE INTO settings VALUES ('vary', ?)").run(vary);
    return {};
  }
  if (*recorded == vary) return {};
  return tl::unexpected(
      Error{{database.file().string()},
            recorded->empty() ? "in the series of this history nothing may vary"
                              : fmt::format("the series of this history may vary in {}", *recorded),
            "omit --vary, or name another history with --history"});
}

}  // namespace

Expected<std::vector<std::string>> vary_of(const SqlDatabase& database,
                                           const std::vector<std::string>& asked) {
  return sql_stage([&]() -> Expected<std::vector<std::string>> {
    const auto recorded = recorded_vary(database);
    return asked.empty() && recorded ? vary_from(*recorded) : asked;
  });
}

Expected<Recorded> record(const SqlDatabase& database, const NextRun& next,
                          OnContradiction on_contradiction, const std::vector<std::string>& vary) {
  return sql_stage([&]() -> Expected<Recorded> {
    SqlTransaction transaction(database);
    if (auto settled = settle_vary(database, vary_text(vary)); !settled) {
      return tl::unexpected(settled.error());
    }
    RunWriter writer(database, on_contradiction);
    for (;;) {
      auto run = next();
      if (!run) return tl::unexpected(run.error());
      if (!*run) break;
      if (auto added = writer.add(**run); !added) return tl::unexpected(added.error());
    }
    transaction.commit();
    return writer.recorded();
  });
}

Expected<Recorded> record(const SqlDatabase& database, std::vector<HistoryRun> runs,
                          OnContradiction on_contradiction, const std::vector<std::string>& vary) {
  auto next = [&runs, at = std::size_t{0}]() mutable -> Expected<std::optional<HistoryRun>> {
    return at < runs.size() ? std::optional(std::move(runs[at++])) : std::nullopt;
  };
  return record(database, next, on_contradiction, vary);
}

std::string to_string(const Recorded& recorded) {
  std::string text = format_plural(recorded.values, "value");
  if (recorded.new_series > 0) {
    text +=
        fmt::format(", {} of new series", format_count(static_cast<double>(recorded.new_series)));
  }
  text += "; " + format_plural(recorded.steps, "new step");
  if (recorded.known_runs > 0) {
    text += fmt::format("; {} recorded before", format_plural(recorded.known_runs, "run"));
  }
  return text;
}

}  // namespace instr
