// The versions of LibTorch that a definition is for: ">=2.0", ">=1.13, !=2.1, <3".
#pragma once

#include <string_view>

#include "core/base/error.h"

namespace instr {

// Whether `version` ("2.13.0", "2.1.0a0+git1234": what follows the numbers is ignored) meets
// every part of a comma-separated requirement; each part is one of >= > <= < == != and a version.
// As many numbers are compared as the requirement has, so that "==1.13" and "<=1.13" hold for
// 1.13.1, and ">1.13" does not. The error, for a malformed requirement or version, has no place.
Expected<bool> satisfies(std::string_view version, std::string_view requirement);

}  // namespace instr
