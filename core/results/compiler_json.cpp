#include "core/results/compiler_json.h"

#include <nlohmann/json.hpp>

#include "core/base/json_line.h"

namespace instr {

using Json = nlohmann::ordered_json;

namespace {

constexpr const char* kGraphBreaks = "graph_break_reasons";
constexpr const char* kRecompilations = "recompile_reasons";
constexpr const char* kUnlowered = "unlowered_operators";
constexpr const char* kCounters = "counters";

void add_notes(Json& line, const char* name, const std::vector<CompilerNote>& notes) {
  for (const CompilerNote& note : notes) {
    line[name].push_back({{"place", note.place}, {"reason", note.reason}, {"count", note.count}});
  }
}

std::vector<CompilerNote> parse_notes(const Json& line, const char* name) {
  std::vector<CompilerNote> notes;
  const auto list = line.find(name);
  if (list == line.end() || !list->is_array()) return notes;
  for (const Json& note : *list) {
    if (!note.is_object()) continue;
    const Json place = note.value("place", Json());
    const Json reason = note.value("reason", Json());
    const Json count = note.value("count", Json());
    if (!place.is_string() || !reason.is_string() || !count.is_number_unsigned()) continue;
    notes.push_back({place, reason, count});
  }
  return notes;
}

std::map<std::string, std::uint64_t> parse_unlowered(const Json& line) {
  Json counts = Json::object();
  const auto list = line.find(kUnlowered);
  if (list == line.end() || !list->is_array()) return {};
  for (const Json& item : *list) {
    if (!item.is_object() || !item.value("name", Json()).is_string()) continue;
    counts[item["name"].get<std::string>()] = item.value("count", Json());
  }
  return parse_counts(counts);
}

}  // namespace

void add_compiler(Json& line, const CompilerReport& report) {
  add_notes(line, kGraphBreaks, report.graph_breaks);
  add_notes(line, kRecompilations, report.recompilations);
  for (const auto& [name, count] : report.unlowered) {
    line[kUnlowered].push_back({{"name", name}, {"count", count}});
  }
  for (const auto& [group, counts] : report.counters) {
    for (const auto& [name, count] : counts) line[kCounters][group][name] = json_number(count);
  }
}

std::map<std::string, std::uint64_t> parse_counts(const Json& counts) {
  std::map<std::string, std::uint64_t> parsed;
  if (!counts.is_object()) return parsed;
  for (const auto& [name, count] : counts.items()) {
    if (count.is_number_unsigned()) parsed[name] = count.get<std::uint64_t>();
  }
  return parsed;
}

std::map<std::string, std::map<std::string, double>> parse_counters(const Json& groups) {
  std::map<std::string, std::map<std::string, double>> counters;
  if (!groups.is_object()) return counters;
  for (const auto& [group, counts] : groups.items()) {
    if (!counts.is_object()) continue;
    for (const auto& [name, count] : counts.items()) {
      if (count.is_number()) counters[group][name] = count.get<double>();
    }
  }
  return counters;
}

std::optional<CompilerReport> parse_compiler(const Json& line) {
  CompilerReport report{parse_notes(line, kGraphBreaks), parse_notes(line, kRecompilations),
                        parse_unlowered(line)};
  if (line.contains(kCounters)) report.counters = parse_counters(line[kCounters]);
  return report == CompilerReport{} ? std::nullopt : std::optional(std::move(report));
}

}  // namespace instr
