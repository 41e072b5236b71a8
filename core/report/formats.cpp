#include "core/report/formats.h"

namespace instr {

namespace {

constexpr bool is_in_order() {
  for (std::size_t i = 0; i < kReportFormats.size(); ++i) {
    if (kReportFormats[i].format != static_cast<ReportFormat>(i)) return false;
  }
  return true;
}
static_assert(is_in_order(), "facts_of() finds an entry by its place");

}  // namespace

const std::vector<std::pair<std::string, ReportFormat>>& report_formats() {
  static const std::vector<std::pair<std::string, ReportFormat>> kNames = [] {
    std::vector<std::pair<std::string, ReportFormat>> names;
    for (const FormatFacts& one : kReportFormats) names.emplace_back(one.name, one.format);
    return names;
  }();
  return kNames;
}

std::string report(ReportFormat format, const std::vector<Measurement>& measurements,
                   const ReportOptions& options) {
  return facts_of(format).report(measurements, options);
}

}  // namespace instr
