#include "core/history/definitions_of_runs.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/json_line.h"

namespace instr {

namespace {

DefinitionOptions parse_options(const SqlDatabase& database, const std::string& text) {
  const auto json = parse_json(text);
  const auto is_text = [](const auto& word) { return word.is_string(); };
  if (!json || !json->is_array() || !std::ranges::all_of(*json, is_text)) {
    database.fail_as_damaged("the stored definitions of a run are not a JSON array of texts");
  }
  return json->get<DefinitionOptions>();
}

}  // namespace

std::map<std::int64_t, DefinitionOptions> read_definitions(const SqlDatabase& database) {
  std::map<std::int64_t, DefinitionOptions> by_run;
  const bool is_known = database.integer(
                            "SELECT count(*) FROM pragma_table_info('runs')"
                            " WHERE name = 'definitions'") > 0;
  if (!is_known) return by_run;
  for (const auto& run :
       database.rows("SELECT id, definitions FROM runs WHERE definitions IS NOT NULL")) {
    by_run[run.integer(0)] = parse_options(database, run.text(1));
  }
  return by_run;
}

DefinitionsOfSeries::DefinitionsOfSeries(const SqlDatabase& database)
    : find_sample_(database.prepare("SELECT 1 FROM samples WHERE series_id = ? AND run_id = ?")) {
  auto options = read_definitions(database);
  for (const auto& run : database.rows(
           "SELECT runs.id, commit_id, branches.name, members FROM runs"
           " JOIN branches ON branches.id = branch_id JOIN commits ON commits.id = commit_id"
           " JOIN series_sets ON series_sets.id = set_id ORDER BY position DESC, runs.id DESC")) {
    const auto known = options.find(run.integer(0));
    if (known == options.end()) continue;
    runs_.push_back({run.integer(0), run.integer(1), run.text(2),
                     parse_members(database, run.text(3)), std::move(known->second)});
  }
}

bool DefinitionsOfSeries::has(const Run& run, const HistorySeries& series) {
  if (run.branch != series.branch) return false;
  return series.is_exact ? run.measured.contains(series.id)
                         : find_sample_.start(series.id, run.id).step();
}

DefinitionOptions DefinitionsOfSeries::find(const HistorySeries& series,
                                            const std::optional<std::int64_t>& commit) {
  const auto run = std::ranges::find_if(runs_, [&](const Run& candidate) {
    return (!commit || candidate.commit == *commit) && has(candidate, series);
  });
  return run == runs_.end() ? DefinitionOptions{} : run->options;
}

}  // namespace instr
