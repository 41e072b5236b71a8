// Decides which variants can be measured here, and why the others cannot. Pure.
#pragma once

#include <optional>
#include <string>

#include "core/compile/language_support.h"
#include "core/compile/libtorch.h"
#include "core/definitions/variant.h"

namespace instr {

struct Capabilities {
  const LibTorch& libtorch;
  bool wants_times;  // some variants can only be timed
};

// Returns whether Valgrind can count the variant: not on a GPU, nor in a package whose code it may
// not support, nor if the variant is too large.
bool is_countable(const Variant& variant);

// Returns the reason why a variant can be neither counted nor timed here; nothing if it can be.
std::optional<std::string> find_obstacle(const Variant& variant, const Capabilities& capabilities,
                                         const LanguageSupport& language);

}  // namespace instr
