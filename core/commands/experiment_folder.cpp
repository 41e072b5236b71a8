#include "core/commands/experiment_folder.h"

#include <fmt/format.h>

#include "core/base/output.h"
#include "core/base/output_folder.h"
#include "core/base/replace_file.h"
#include "core/report/experiment_report.h"
#include "core/report/plot_picture.h"

namespace instr {

namespace fs = std::filesystem;

namespace {

Expected<void> write(const fs::path& file, const std::string& text) {
  return replace_file(file, text).map([](const Fd&) {});
}

}  // namespace

Expected<void> ExperimentFolder::make() const {
  return make_output_folder(path_, "name another one with --output-dirname");
}

Expected<void> ExperimentFolder::write_summary(const std::vector<ExperimentRecord>& records) const {
  const auto write_as = [&](ReportFormat format, const char* name) {
    return write(path_ / name, experiment_report(records, {.format = format}) + "\n");
  };
  return write_as(ReportFormat::kTable, "summary.txt").and_then([&] {
    return write_as(ReportFormat::kMarkdown, "summary.md");
  });
}

Expected<void> ExperimentFolder::draw(const std::vector<ExperimentRecord>& records,
                                      std::stop_token stop) const {
  std::vector<Measurement> measurements;
  for (const ExperimentRecord& record : records) measurements.push_back(measurement_of(record));
  for (const auto& [kind, chart] : make_charts(measurements, kWall)) {
    if (!chart) {
      print_message(fmt::format("no {}.svg: {}: see instr_bench plot {} --kind={}\n",
                                to_string(kind), chart.error().what, results().string(),
                                to_string(kind)));
      continue;
    }
    auto drawn = draw_svg(*chart, stop);
    if (stop.stop_requested()) return {};
    if (!drawn) {  // the next ones would fail in the same way
      print_message("no pictures: " + to_string(drawn.error()) + "\n");
      return {};
    }
    auto written = write(path_ / (std::string(to_string(kind)) + ".svg"), *drawn);
    if (!written) return written;
  }
  return {};
}

}  // namespace instr
