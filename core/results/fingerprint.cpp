#include "core/results/fingerprint.h"

#include <nlohmann/json.hpp>

namespace instr {

std::string Fingerprint::get(const std::string& name) const {
  for (const auto& [entry, value] : entries) {
    if (entry == name) return value;
  }
  return "";
}

nlohmann::ordered_json to_json(const Fingerprint& fingerprint) {
  auto json = nlohmann::ordered_json::object();
  auto libraries = nlohmann::ordered_json::array();
  for (const auto& [name, value] : fingerprint.entries) {
    if (is_library_field(name)) {
      libraries.push_back({name, value});
    } else {
      json[name] = value;
    }
  }
  if (!libraries.empty()) json[std::string(kLibraries)] = libraries;
  auto machine = nlohmann::ordered_json::object();
  for (const auto& [name, value] : fingerprint.machine) machine[name] = value;
  json["machine"] = machine;
  return json;
}

}  // namespace instr
