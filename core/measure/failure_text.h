// Messages about snippets that failed, with the place in the definition.
#pragma once

#include <optional>
#include <string>

#include "core/measure/parse_reply.h"

namespace instr {

// Returns `message` after the place of the failure; unchanged if that is not known. `part`: which
// of the variant's texts ran ("setup", "statement"), or "preparing" by its compiler, as reported by
// the worker, or "". Places in the TorchScript text become those in the TOML file. `line`: of a
// snippet in Python (core/compile/python/generate_python.h), or 0.
std::string failure_text(const std::string& message, const std::string& part,
                         const Variant& variant, int line = 0);

// Returns the place in the TOML file that a TorchScript error refers to, if any.
std::optional<SourceLocation> script_place(const std::string& message, const Variant& variant);

// Returns the place in the TOML file of a line of generated code in Python, if any.
std::optional<SourceLocation> python_place(int line, const Variant& variant);

// Replaces the files and names of generated code in Python by those of the TOML file.
std::string in_terms_of_toml(std::string text, const Variant& variant);

// Returns how to give the variant more time, to be appended to a message.
std::string timeout_advice(const Variant& variant);

// Adds that advice if the variant was stopped for its timeout.
Outcome with_timeout_advice(Outcome outcome, const Variant& variant);

// Adds that advice to a count. Its CUDA device is made up, where a loop may wait for a value in
// vain.
Outcome with_timeout_advice_for_count(Outcome outcome, const Variant& variant);

}  // namespace instr
