// What a person reads about a snippet that failed: the worker's words, at the place of the text of
// the definition that they are about.
#pragma once

#include <optional>
#include <string>

#include "core/measure/measure.h"

namespace instr {

// `message` behind the place of what failed; as it is if that is not known. `part`: which of the
// variant's texts ran ("setup", "statement"), as the worker says; "" if it does not. A place in
// the TorchScript text that `message` names is the one in the TOML file.
std::string failure_text(const std::string& message, const std::string& part,
                         const Variant& variant);

// The place in the TOML file that an error of TorchScript names; nothing if it names none.
std::optional<SourceLocation> script_place(const std::string& message, const Variant& variant);

// "bench.toml:4:1" or, of a definition without a place, "".
std::string place_text(const SourceLocation& where);

// What a worker says of a snippet that it ended for its timeout.
inline constexpr const char* kRanTooLong = "the snippet ran longer than its timeout";

// `outcome`, if it says that, with the seconds and what raises them. `usual`: of a variant that
// names none.
Outcome with_timeout(Outcome outcome, const Variant& variant, double usual);
std::string with_timeout(std::string message, const Variant& variant, double usual);

}  // namespace instr
