#include "core/report/list.h"

#include <algorithm>
#include <array>
#include <set>

#include "core/base/format.h"
#include "core/base/terminal.h"

namespace instr {

namespace {

constexpr std::size_t kSteps = 4;

const char* word_of(PlannedStep step) {
  switch (step) {
    case PlannedStep::kUnknown: return "measure";
    case PlannedStep::kCached: return "cached";
    case PlannedStep::kCompile: return "compile";
    case PlannedStep::kSkip: return "skip";
  }
  return "";
}

Style style_of(PlannedStep step) {
  switch (step) {
    case PlannedStep::kCached: return Style::kGood;
    case PlannedStep::kCompile: return Style::kWarning;
    default: return Style::kDim;
  }
}

std::string number(std::size_t count) { return format_count(static_cast<double>(count)); }

}  // namespace

std::string list_text(const std::vector<Variant>& variants) {
  std::string text;
  for (const Variant& variant : variants) text += variant.key + "\n";
  return text;
}

std::string list_summary(const std::vector<Variant>& variants) {
  std::set<std::string> labels;
  for (const Variant& variant : variants) labels.insert(variant.label);
  return format_plural(variants.size(), "variant") + " of " +
         format_plural(labels.size(), "benchmark") + "\n";
}

std::string dry_run_text(const std::vector<PlannedVariant>& variants, bool color) {
  constexpr std::size_t kWordWidth = 7;
  std::string text;
  std::array<std::size_t, kSteps> counts{};
  for (const PlannedVariant& planned : variants) {
    ++counts[static_cast<std::size_t>(planned.step)];
    std::string word = word_of(planned.step);
    text += styled(word, style_of(planned.step), color) + pad_right("", kWordWidth - word.size()) +
            "  " + printable(planned.variant.key);
    if (!planned.reason.empty()) text += "  (" + printable(planned.reason) + ")";
    text += "\n";
  }
  auto count = [&counts](PlannedStep step) { return counts[static_cast<std::size_t>(step)]; };
  text += "\n" + number(variants.size() - count(PlannedStep::kSkip)) + " would be measured";
  if (count(PlannedStep::kCached) > 0)
    text += ", " + number(count(PlannedStep::kCached)) + " of them cached";
  if (count(PlannedStep::kCompile) > 0)
    text += ", " + number(count(PlannedStep::kCompile)) + " to compile";
  if (count(PlannedStep::kSkip) > 0) text += "; " + number(count(PlannedStep::kSkip)) + " skipped";
  return text + "\n";
}

}  // namespace instr
