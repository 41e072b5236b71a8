#include "core/report/formats.h"

namespace instr {

namespace {

constexpr bool is_in_order() {
  for (std::size_t i = 0; i < kReportFormats.size(); ++i) {
    if (kReportFormats[i].format != static_cast<ReportFormat>(i)) return false;
  }
  return true;
}
static_assert(is_in_order(), "facts_of() takes an entry by its place");

}  // namespace

const std::vector<ReportFormat>& document_formats() {
  static const std::vector<ReportFormat> formats = [] {
    std::vector<ReportFormat> known;
    for (const FormatFacts& facts : kReportFormats) {
      if (facts.render != nullptr) known.push_back(facts.format);
    }
    return known;
  }();
  return formats;
}

std::string render(ReportFormat format, const Document& document, const RenderOptions& options) {
  return facts_of(format).render(document, options);
}

}  // namespace instr
