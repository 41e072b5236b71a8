// The JSON Schema of a line of a results file, for programs that read them.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace instr {

// Other members than the described ones are allowed, as readers ignore them.
nlohmann::ordered_json results_schema();

}  // namespace instr
