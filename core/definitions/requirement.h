// Version requirements of definitions: ">=2.0", ">=1.13, !=2.1, <3".
#pragma once

#include <string>
#include <string_view>

#include "core/base/error.h"

namespace instr {

// Returns true if `version` ("2.13.0", "2.1.0a0+git1234": text after the numbers is ignored) meets
// every part of a comma-separated requirement; each part is one of >= > <= < == != and a version.
// Only as many numbers are compared as the requirement has, so 1.13.1 meets "==1.13" and "<=1.13"
// but not ">1.13". The error, for a malformed requirement or version, has no place.
Expected<bool> satisfies(std::string_view version, std::string_view requirement);

// A Python package: "timm", "timm>=1.0, !=1.0.3".
struct PackageRequirement {
  std::string name;      // normalized as by package indexes: "torch-xla" for "Torch_XLA"
  std::string versions;  // the requirement given to satisfies(); empty: any
};

// The error has no place.
Expected<PackageRequirement> parse_package(std::string_view text);

}  // namespace instr
