// The JSON of experiments in an HTML report.
#include <nlohmann/json.hpp>

#include "core/base/format.h"
#include "core/report/html_data.h"
#include "core/results/results_file.h"

namespace instr {

namespace {

using PageJson = nlohmann::ordered_json;

const char* tone_name(Tone tone) {
  switch (tone) {
    case Tone::kPlain: break;
    case Tone::kGood: return "good";
    case Tone::kWarning: return "warning";
    case Tone::kBad: return "bad";
    case Tone::kDim: return "dim";
  }
  return "";
}

PageJson cell_json(const DocumentCell& cell) {
  PageJson json{{"text", cell.text}};
  if (cell.tone != Tone::kPlain) json["tone"] = tone_name(cell.tone);
  const bool is_number = !cell.is_text && !cell.value.empty();
  if (is_number) json["number"] = PageJson::parse(cell.value);
  return json;
}

// Rows: the id (the key, or the full name), the group, the name in it, and the visible cells.
PageJson table_json(const DocumentTable& table) {
  PageJson columns = PageJson::array();
  for (const DocumentColumn& column : table.columns) {
    if (!column.is_hidden) {
      columns.push_back({{"heading", full_heading(column)}, {"name", column.name}});
    }
  }
  PageJson rows = PageJson::array();
  for (const DocumentRow& row : table.rows) {
    PageJson cells = PageJson::array();
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      if (!table.columns[i].is_hidden) cells.push_back(cell_json(row.cells[i]));
    }
    rows.push_back({{"id", printable(row.cells[0].value)},
                    {"group", row.group},
                    {"name", row.name},
                    {"cells", std::move(cells)}});
  }
  return {{"title", table.title}, {"columns", std::move(columns)}, {"rows", std::move(rows)}};
}

PageJson tables_json(const std::vector<DocumentTable>& tables) {
  PageJson json = PageJson::array();
  for (const DocumentTable& table : tables) json.push_back(table_json(table));
  return json;
}

PageJson experiment_json(const ReportExperiment& experiment) {
  PageJson json{{"key", printable(experiment.key)},
                {"model", experiment.model},
                {"backend", experiment.backend}};
  if (experiment.row) json["row"] = *experiment.row;
  if (const auto& speedup = experiment.speedup) {
    const auto [low, high] = speedup->interval.value_or(std::pair(speedup->ratio, speedup->ratio));
    json["speedup"] = {{"ratio", json_number(speedup->ratio)},
                       {"low", json_number(low)},
                       {"high", json_number(high)}};
  }
  json["facts"] = PageJson::object();
  for (const auto& [name, text] : experiment.facts) json["facts"][name] = text;
  json["lists"] = tables_json(experiment.lists);
  return json;
}

}  // namespace

PageJson experiments_json(const ReportExperiments& experiments) {
  PageJson list = PageJson::array();
  for (const ReportExperiment& one : experiments.list) list.push_back(experiment_json(one));
  return {{"conclusion", experiments.conclusion},
          {"summary", table_json(experiments.summary)},
          {"findings", tables_json(experiments.findings)},
          {"each", table_json(experiments.each)},
          {"list", std::move(list)}};
}

}  // namespace instr
