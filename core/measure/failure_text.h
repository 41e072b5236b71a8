// The message about a snippet that failed: the worker's, with the place of the definition's text
// that it is about.
#pragma once

#include <optional>
#include <string>

#include "core/measure/parse_reply.h"

namespace instr {

// `message` after the place of the failure; unchanged if that is not known. `part`: which of the
// variant's texts ran ("setup", "statement"), as reported by the worker, or "". A place in the
// TorchScript text that `message` names is the one in the TOML file. `line`: of a snippet in Python
// (core/compile/python/generate_python.h), or 0.
std::string failure_text(const std::string& message, const std::string& part,
                         const Variant& variant, int line = 0);

// The place in the TOML file that a TorchScript error refers to, if any.
std::optional<SourceLocation> script_place(const std::string& message, const Variant& variant);

// The place in the TOML file of a line of its code in Python
// (core/compile/python/generate_python.h); 0: none.
std::optional<SourceLocation> python_place(int line, const Variant& variant);

// Text about code in Python, in which the files and names of generated code are those of the TOML
// file.
std::string in_terms_of_toml(std::string text, const Variant& variant);

// How to give the variant more time, to be appended to a message.
std::string timeout_advice(const Variant& variant);

// `outcome`, with that advice if it was stopped for its timeout.
Outcome with_timeout_advice(Outcome outcome, const Variant& variant);

}  // namespace instr
