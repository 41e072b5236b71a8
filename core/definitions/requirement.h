// The versions that a definition is for: ">=2.0", ">=1.13, !=2.1, <3".
#pragma once

#include <string>
#include <string_view>

#include "core/base/error.h"

namespace instr {

// Whether `version` ("2.13.0", "2.1.0a0+git1234": what follows the numbers is ignored) meets
// every part of a comma-separated requirement; each part is one of >= > <= < == != and a version.
// As many numbers are compared as the requirement has, so that "==1.13" and "<=1.13" hold for
// 1.13.1, and ">1.13" does not. The error, for a malformed requirement or version, has no place.
Expected<bool> satisfies(std::string_view version, std::string_view requirement);

// A package of Python: "timm", "timm>=1.0, !=1.0.3".
struct PackageRequirement {
  std::string name;      // as indexes of packages compare them: "torch-xla" of "Torch_XLA"
  std::string versions;  // for satisfies(); empty: any
};

// The error, for a malformed one, has no place.
Expected<PackageRequirement> parse_package(std::string_view text);

}  // namespace instr
