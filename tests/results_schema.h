// tools/results.schema.json, for the tests that check results against it.
#pragma once

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/json_schema.h"

namespace instr {

inline const nlohmann::json& results_schema() {
  static const nlohmann::json kSchema = nlohmann::json::parse(
      std::ifstream(std::filesystem::path(INSTR_SOURCE_DIR) / "tools/results.schema.json"));
  return kSchema;
}

// Whether it is valid as a line of a results file.
inline bool is_line_of_results(const nlohmann::json& line) {
  static const JsonSchema kSchema(results_schema());
  return kSchema.accepts(line);
}

}  // namespace instr
