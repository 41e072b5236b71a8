// Reads the tests to count from the list that `pytest --instr` writes.
#pragma once

#include <filesystem>
#include <vector>

#include "core/base/error.h"
#include "core/definitions/variant.h"

namespace instr {

// Returns a variant for each test, with the key "pytest/tests/test_file.py/test_name[param]".
Expected<std::vector<Variant>> load_tests(const std::filesystem::path& file);

}  // namespace instr
