#include "core/report/formats.h"

#include <algorithm>
#include <iterator>

namespace instr {

static_assert(std::all_of(std::begin(kReportFormats), std::end(kReportFormats),
                          [](const FormatFacts& known) {
                            return &known == &facts_of(known.format);
                          }),
              "facts_of() takes an entry by its place");

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
