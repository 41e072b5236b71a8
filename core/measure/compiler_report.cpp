#include "core/measure/compiler_report.h"

#include <fmt/format.h>

#include "core/base/format.h"
#include "core/measure/failure_text.h"
#include "core/results/compiler_json.h"

namespace instr {

namespace {

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

std::vector<CompilerNote> parse_notes(JsonValue json, const char* name, const Variant& variant) {
  std::vector<CompilerNote> notes;
  for (const JsonValue note : items_of(json, name)) {
    const auto file = member_as<std::string_view>(note, "file");
    const auto line = member_as<int>(note, "line");
    const auto text = member_as<std::string_view>(note, "text");
    const auto count = member_as<std::uint64_t>(note, "count");
    if (!file || !line || !text || !count) continue;
    notes.push_back({format_place(std::string(*file), *line, variant),
                     extract_reason(std::string(*text), variant), *count});
  }
  return notes;
}

}  // namespace

CompilerReport parse_compiler_report(std::string_view json, const Variant& variant) {
  JsonReader reader;
  const auto parsed = reader.read(json);
  if (!parsed) return {};
  CompilerReport report{.graph_breaks = parse_notes(*parsed, "breaks", variant),
                        .recompilations = parse_notes(*parsed, "recompiles", variant),
                        .counters = counters_from(*parsed)};
  for (const auto& [name, count] : unlowered_from(*parsed))
    report.unlowered[printable(name)] = count;
  return report;
}

}  // namespace instr
