#include "core/report/list.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/csv.h"
#include "core/base/format.h"
#include "core/base/table.h"

namespace instr {

namespace {

using Json = nlohmann::ordered_json;

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

Tone tone_of(PlannedStep step) {
  switch (step) {
    case PlannedStep::kCached: return Tone::kGood;
    case PlannedStep::kCompile: return Tone::kWarning;
    case PlannedStep::kUnknown:
    case PlannedStep::kSkip: break;
  }
  return Tone::kDim;
}

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

std::string list_json(const std::vector<Variant>& variants) {
  std::string text;
  for (const Variant& variant : variants) {
    text += (text.empty() ? "[\n " : ",\n ") +
            to_json(variant).dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  return text.empty() ? "[]\n" : text + "\n]\n";
}

std::string list_csv(const std::vector<Variant>& variants) {
  std::string text = csv_line({"key", "label", "params", "language", "backend", "autograd",
                               "threads", "device", "tags", "description", "file", "line"});
  for (const Variant& variant : variants) {
    std::string params;
    for (const auto& [name, value] : variant.params) {
      params += (params.empty() ? "" : " ") + name + "=" + value;
    }
    std::string tags;
    for (const std::string& tag : variant.tags) tags += (tags.empty() ? "" : " ") + tag;
    text += csv_line({variant.key, variant.label, params, to_string(variant.language),
                      to_string(variant.backend), to_string(variant.autograd),
                      std::to_string(variant.threads), variant.device, tags, variant.description,
                      variant.where.file, std::to_string(variant.where.line)});
  }
  return text;
}

}  // namespace

std::string list_text(const std::vector<Variant>& variants, ListFormat format) {
  switch (format) {
    case ListFormat::kKeys: break;
    case ListFormat::kJson: return list_json(variants);
    case ListFormat::kCsv: return list_csv(variants);
  }
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
  Table table{.columns = {{.align = Align::kLeft, .min = 7}, {.align = Align::kLeft}},
              .headings = Headings::kNone};
  std::array<std::size_t, kSteps> counts{};
  for (const PlannedVariant& planned : variants) {
    ++counts[static_cast<std::size_t>(planned.step)];
    std::string what = printable(planned.variant.key);
    if (!planned.reason.empty()) what += "  (" + printable(planned.reason) + ")";
    table.lines.push_back({.cells = {{word_of(planned.step), tone_of(planned.step)}, {what}}});
  }
  auto count = [&counts](PlannedStep step) { return counts[static_cast<std::size_t>(step)]; };
  std::string text = *table_text(table, 0, color);
  text += "\n" + number(variants.size() - count(PlannedStep::kSkip)) + " would be measured";
  if (count(PlannedStep::kCached) > 0)
    text += ", " + number(count(PlannedStep::kCached)) + " of them cached";
  if (count(PlannedStep::kCompile) > 0)
    text += ", " + number(count(PlannedStep::kCompile)) + " to compile";
  if (count(PlannedStep::kSkip) > 0) text += "; " + number(count(PlannedStep::kSkip)) + " skipped";
  return text + "\n";
}

}  // namespace instr
