#include "core/measure/compiler_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/base/format.h"
#include "core/base/json_line.h"
#include "core/measure/failure_text.h"
#include "core/results/compiler_json.h"

namespace instr {

namespace {

using Json = nlohmann::ordered_json;

// Text around a reason.
constexpr const char* kBeginnings[] = {"Graph Break Reason: ", "guard failure(s):"};
constexpr const char* kEnds[] = {" For more details about this graph break",
                                 "User code traceback:", "User stack trace:"};

// Returns the reason as a line, without the text around it.
std::string extract_reason(std::string text, const Variant& variant) {
  text = in_terms_of_toml(std::move(text), variant);
  for (const char* beginning : kBeginnings) {
    const std::size_t at = text.find(beginning);
    if (at != std::string::npos) text.erase(0, at + std::string_view(beginning).size());
  }
  for (const char* end : kEnds) text.resize(std::min(text.find(end), text.size()));
  std::string line;
  for (const char c : text) {
    const bool is_space = c == ' ' || c == '\n' || c == '\t';
    const bool is_needless = line.empty() ? is_space || c == '-' : is_space && line.back() == ' ';
    if (!is_needless) line += is_space ? ' ' : c;
  }
  while (line.ends_with(' ') || line.ends_with('-')) line.pop_back();
  return shorten_end(printable(line), kMaxReasonLength);
}

std::string format_place(const std::string& file, int line, const Variant& variant) {
  if (file == "<snippet>") {
    if (auto place = python_place(line, variant)) return to_string(*place);
    return "";
  }
  return file.empty() ? "" : printable(fmt::format("{}:{}", file, line));
}

std::vector<CompilerNote> parse_notes(const Json& json, const char* name, const Variant& variant) {
  std::vector<CompilerNote> notes;
  if (!json.contains(name) || !json.at(name).is_array()) return notes;
  for (const Json& note : json.at(name)) {
    try {
      notes.push_back({format_place(note.at("file"), note.at("line"), variant),
                       extract_reason(note.at("text"), variant), note.at("count")});
    } catch (const Json::exception&) {
      continue;
    }
  }
  return notes;
}

}  // namespace

CompilerReport parse_compiler_report(std::string_view json, const Variant& variant) {
  CompilerReport report;
  const auto parsed = parse_json(json);
  if (!parsed || !parsed->is_object()) return report;
  report.graph_breaks = parse_notes(*parsed, "breaks", variant);
  report.recompilations = parse_notes(*parsed, "recompiles", variant);
  if (const auto counts = parsed->find("unlowered"); counts != parsed->end()) {
    for (const auto& [name, count] : parse_counts(*counts)) {
      report.unlowered[printable(name)] = count;
    }
  }
  if (const auto counters = parsed->find("counters"); counters != parsed->end()) {
    report.counters = parse_counters(*counters);
  }
  return report;
}

}  // namespace instr
