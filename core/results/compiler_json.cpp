#include "core/results/compiler_json.h"

#include <nlohmann/json.hpp>

#include "core/results/results_file.h"

namespace instr {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kGraphBreaks = "graph_breaks";
constexpr const char* kRecompilations = "recompilations";
constexpr const char* kUnlowered = "unlowered";
constexpr const char* kCounters = "counters";

void add_notes(Json& json, const char* name, const std::vector<CompilerNote>& notes) {
  for (const CompilerNote& note : notes) {
    json[name].push_back({{"place", note.place}, {"reason", note.reason}, {"count", note.count}});
  }
}

std::vector<CompilerNote> notes_from(JsonValue json, const char* name) {
  std::vector<CompilerNote> notes;
  for (const JsonValue note : items_of(json, name)) {
    const auto place = member_as<std::string_view>(note, "place");
    const auto reason = member_as<std::string_view>(note, "reason");
    const auto count = member_as<std::uint64_t>(note, "count");
    if (place && reason && count) {
      notes.push_back({std::string(*place), std::string(*reason), *count});
    }
  }
  return notes;
}

}  // namespace

Json to_json(const CompilerReport& report) {
  Json json = Json::object();
  add_notes(json, kGraphBreaks, report.graph_breaks);
  add_notes(json, kRecompilations, report.recompilations);
  for (const auto& [name, count] : report.unlowered) json[kUnlowered][name] = count;
  for (const auto& [group, counts] : report.counters) {
    for (const auto& [name, count] : counts) json[kCounters][group][name] = json_number(count);
  }
  return json;
}

Json to_json(const OperatorTime& time) {
  return {{"name", time.name},
          {"on_device", time.is_on_device},
          {"calls", time.calls},
          {"self", time.self},
          {"total", time.total}};
}

std::vector<OperatorTime> operators_from(const std::vector<JsonValue>& list) {
  std::vector<OperatorTime> operators;
  for (const JsonValue item : list) {
    const auto name = member_as<std::string_view>(item, "name");
    if (!name) continue;
    operators.push_back({std::string(*name), member_as<bool>(item, "on_device").value_or(false),
                         member_as<std::uint64_t>(item, "calls").value_or(0),
                         member_as<std::uint64_t>(item, "self").value_or(0),
                         member_as<std::uint64_t>(item, "total").value_or(0)});
  }
  return operators;
}

std::map<std::string, std::uint64_t> unlowered_from(JsonValue json) {
  std::map<std::string, std::uint64_t> unlowered;
  for (const auto& [name, value] : members_of(json, kUnlowered)) {
    if (const auto count = value_as<std::uint64_t>(value)) unlowered.emplace(name, *count);
  }
  return unlowered;
}

std::map<std::string, std::map<std::string, double>> counters_from(JsonValue json) {
  std::map<std::string, std::map<std::string, double>> counters;
  for (const auto& [group, counts] : members_of(json, kCounters)) {
    for (const auto& [name, value] : members_of(counts)) {
      const auto count = value_as<double>(value);
      if (count) counters[std::string(group)].emplace(name, *count);
    }
  }
  return counters;
}

CompilerReport compiler_from(JsonValue json) {
  return {notes_from(json, kGraphBreaks), notes_from(json, kRecompilations), unlowered_from(json),
          counters_from(json)};
}

}  // namespace instr
