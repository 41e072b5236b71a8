// The JSON of experiments in an HTML report.
#include <nlohmann/json.hpp>

#include "core/base/format.h"
#include "core/base/numbered.h"
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

// The text, or the text, its tone and the number, if any.
PageJson cell_json(const DocumentCell& cell) {
  const bool is_number = !cell.is_text && !cell.value.empty();
  if (!is_number && cell.tone == Tone::kPlain) return cell.text;
  return {cell.text, tone_name(cell.tone), is_number ? PageJson::parse(cell.value) : PageJson()};
}

// Rows: the id (the key, or the full name), the group, the name in it, and the visible cells.
PageJson table_json(const DocumentTable& table) {
  PageJson columns = PageJson::array();
  for (const DocumentColumn& column : table.columns) {
    if (!column.is_hidden) columns.push_back({full_heading(column), column.name});
  }
  PageJson rows = PageJson::array();
  for (const DocumentRow& row : table.rows) {
    PageJson cells = PageJson::array();
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      if (!table.columns[i].is_hidden) cells.push_back(cell_json(row.cells[i]));
    }
    rows.push_back({printable(row.cells[0].value), row.group, row.name, std::move(cells)});
  }
  return {{"title", table.title}, {"columns", std::move(columns)}, {"rows", std::move(rows)}};
}

// The ratio and its interval, if any.
PageJson speedup_json(const std::optional<Speedup>& speedup) {
  if (!speedup) return {};
  PageJson json{json_number(speedup->ratio)};
  if (!speedup->interval) return json;
  json.push_back(json_number(speedup->interval->first));
  json.push_back(json_number(speedup->interval->second));
  return json;
}

}  // namespace

PageJson experiments_json(const ReportExperiments& experiments) {
  Numbered<std::string> names;  // names of facts
  PageJson list = PageJson::array();
  for (const ReportExperiment& experiment : experiments.list) {
    PageJson facts = PageJson::array();
    for (const auto& [name, text] : experiment.facts) {
      facts.push_back(names.number_of(name));
      facts.push_back(text);
    }
    PageJson lists = PageJson::array();
    for (const DocumentTable& table : experiment.lists) lists.push_back(table_json(table));
    list.push_back({printable(experiment.key), experiment.model, experiment.backend,
                    experiment.row ? PageJson(*experiment.row) : PageJson(),
                    speedup_json(experiment.speedup), std::move(facts), std::move(lists)});
  }
  PageJson findings = PageJson::array();
  for (const DocumentTable& table : experiments.findings) findings.push_back(table_json(table));
  return {{"conclusion", experiments.conclusion},
          {"summary", table_json(experiments.summary)},
          {"findings", std::move(findings)},
          {"each", table_json(experiments.each)},
          {"fact_names", names.all()},
          {"list", std::move(list)}};
}

}  // namespace instr
