// The JSON Schema of definition files, for completion and checks in editors.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace instr {

// Describes each key of the tables in definition_keys.h, with the type of its value. Only the
// loader checks rules about several keys, and the syntax of texts.
nlohmann::ordered_json definition_schema();

}  // namespace instr
