#include "core/experiments/experiment_folder.h"

#include <fmt/format.h>

#include "core/base/output.h"
#include "core/base/output_file.h"
#include "core/base/replace_file.h"
#include "core/experiments/experiment_summary.h"
#include "core/report/formats.h"
#include "core/report/plot.h"

namespace instr {

Expected<void> ExperimentFolder::make() const {
  return make_output_folder(path_, "name another folder with --output-dir");
}

Expected<void> ExperimentFolder::write(const std::vector<ExperimentRecord>& records,
                                       std::stop_token stop) const {
  const Document document = experiment_document(records, /*shows_each=*/false);
  for (const auto& [format, name] :
       {std::pair{ReportFormat::kTable, "summary.txt"}, {ReportFormat::kMarkdown, "summary.md"}}) {
    TRY(replace_file(path_ / name, render(format, document)));
  }
  return draw(records, std::move(stop));
}

Expected<void> ExperimentFolder::draw(const std::vector<ExperimentRecord>& records,
                                      std::stop_token stop) const {
  std::vector<Measurement> measurements;
  for (const ExperimentRecord& record : records) measurements.push_back(measurement_of(record));
  for (const auto& [kind, chart] : make_charts(measurements, kWall)) {
    if (!chart) {
      print_message(fmt::format("no {0}.svg: {1}: see instr_bench plot {2} --kind={0}\n",
                                to_string(kind), chart.error().what, results().string()));
      continue;
    }
    const auto drawn = draw_svg(*chart, stop);
    if (stop.stop_requested()) return {};
    if (!drawn) {  // the next ones would fail in the same way
      print_message("no pictures: " + to_string(drawn.error()) + "\n");
      return {};
    }
    TRY(replace_file(path_ / fmt::format("{}.svg", to_string(kind)), *drawn));
  }
  return {};
}

}  // namespace instr
