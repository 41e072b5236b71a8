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

std::string report(ReportFormat format, const std::vector<Measurement>& measurements,
                   const ReportOptions& options) {
  return facts_of(format).report(measurements, options);
}

}  // namespace instr
