// A variant's name in tables, which people also type to select it.
#pragma once

#include <string>

#include "core/definitions/variant.h"

namespace instr {

// Printable: as they are shown.
struct VariantName {
  std::string group;   // "matmul": the heading of rows whose labels start alike
  std::string row;     // "mm n=4 t2 cuda": the row below it
  std::string full;    // "matmul/mm n=4 t2 cuda": a row without a heading
  std::string column;  // "eager fwd+bwd"
};

VariantName name_of(const Variant& variant);

// "eager", "eager fwd+bwd", "TorchScript", "Python", "Python TorchScript", ...
std::string column_name(Language language, Runtime runtime, Autograd autograd);

}  // namespace instr
