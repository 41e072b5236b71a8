// The JSON Schema of definition files, with which editors complete and check them.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace instr {

// Describes each key of the tables in definition_keys.h, with the type of its value. What several
// keys must have in common, and what a text must look like, is left to the loader.
nlohmann::ordered_json definition_schema();

}  // namespace instr
