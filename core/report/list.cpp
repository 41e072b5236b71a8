#include "core/report/list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/format.h"
#include "core/base/table.h"
#include "core/results/results_file.h"

namespace instr {

namespace {

using Json = nlohmann::ordered_json;

struct StepFacts {
  const char* word;
  Tone tone;
};

// By PlannedStep.
constexpr StepFacts kSteps[] = {{"measure", Tone::kDim},
                                {"cached", Tone::kGood},
                                {"compile", Tone::kWarning},
                                {"skip", Tone::kDim},
                                {"measured", Tone::kGood}};

std::string number(std::size_t count) { return format_count(static_cast<double>(count)); }

Json to_json(const Variant& variant) {
  Json json{{"key", variant.key}, {"label", variant.label}, {"params", Json::object()}};
  for (const auto& [name, value] : variant.params) json["params"][name] = value;
  json["language"] = to_string(variant.language);
  json["backend"] = to_string(variant.backend);
  json["autograd"] = to_string(variant.autograd);
  json["threads"] = variant.threads;
  json["device"] = variant.device;
  json["tags"] = variant.tags;
  json["description"] = variant.description;
  json["file"] = variant.where.file;
  json["line"] = variant.where.line;
  return json;
}

std::vector<std::string> csv_fields(const Variant& variant) {
  return {variant.key,
          variant.label,
          params_text(variant),
          to_string(variant.language),
          to_string(variant.backend),
          to_string(variant.autograd),
          std::to_string(variant.threads),
          variant.device,
          fmt::format("{}", fmt::join(variant.tags, " ")),
          variant.description,
          variant.where.file,
          std::to_string(variant.where.line)};
}

}  // namespace

std::string params_text(const Variant& variant) {
  std::string text;
  for (const auto& [name, value] : variant.params) {
    text += (text.empty() ? "" : " ") + name + "=" + value;
  }
  return text;
}

std::string list_keys(const std::vector<Variant>& variants) {
  std::string text;
  for (const Variant& variant : variants) text += variant.key + "\n";
  return text;
}

Document list_document(const std::vector<Variant>& variants) {
  DocumentTable table{
      .columns = {{.heading = "benchmark", .align = Align::kLeft},
                  {.heading = "defined in", .align = Align::kLeft},
                  {.heading = "description", .align = Align::kLeft, .is_spare = true}},
      .has_keys = true};
  Document document;
  document.fields = {"key",     "label",  "params", "language",    "backend", "autograd",
                     "threads", "device", "tags",   "description", "file",    "line"};
  for (const Variant& variant : variants) {
    const std::string place = fmt::format("{}:{}", variant.where.file, variant.where.line);
    table.rows.push_back(
        {.cells = {text_cell(variant.key), text_cell(place), text_cell(variant.description)}});
    document.records.push_back({to_line(to_json(variant)), {csv_fields(variant)}});
  }
  document.tables.push_back(std::move(table));
  return document;
}

std::string list_summary(const std::vector<Variant>& variants) {
  std::set<std::string> labels;
  for (const Variant& variant : variants) labels.insert(variant.label);
  return format_plural(variants.size(), "variant") + " of " +
         format_plural(labels.size(), "benchmark") + "\n";
}

std::string dry_run_text(const std::vector<PlannedVariant>& variants, bool color) {
  Table table{.columns = {{.align = Align::kLeft, .min = 7}, {.align = Align::kLeft}},
              .headings = Headings::kNone};
  std::array<std::size_t, std::size(kSteps)> counts{};
  for (const PlannedVariant& planned : variants) {
    const auto step = static_cast<std::size_t>(planned.step);
    ++counts[step];
    std::string what = printable(planned.variant.key);
    if (!planned.reason.empty()) what += "  (" + printable(planned.reason) + ")";
    table.lines.push_back({.cells = {{kSteps[step].word, kSteps[step].tone}, {what}}});
  }
  auto count = [&counts](PlannedStep step) { return counts[static_cast<std::size_t>(step)]; };
  std::string text = *table_text(table, 0, color);
  const std::size_t done = count(PlannedStep::kMeasured);
  text += "\n" + number(variants.size() - count(PlannedStep::kSkip) - done) + " would be measured";
  if (count(PlannedStep::kCached) > 0)
    text += ", " + number(count(PlannedStep::kCached)) + " of them cached";
  if (count(PlannedStep::kCompile) > 0)
    text += ", " + number(count(PlannedStep::kCompile)) + " to compile";
  if (done > 0) text += "; " + number(done) + " measured already";
  if (count(PlannedStep::kSkip) > 0) text += "; " + number(count(PlannedStep::kSkip)) + " skipped";
  return text + "\n";
}

}  // namespace instr
