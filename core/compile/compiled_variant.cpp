#include "core/compile/compiled_variant.h"

namespace instr {

Measurement make_compile_failure(const Variant& variant, std::string message) {
  Measurement measurement;
  measurement.variant = variant;
  measurement.outcome = Failure{FailureKind::kCompileError, std::move(message)};
  return measurement;
}

void CompiledVariants::add(const UnitResult& unit) {
  for (const auto& variant : unit.compiled) units.emplace(variant.variant.key, variant);
  for (const auto& measurement : unit.failed) {
    failures.emplace(measurement.variant.key, std::get<Failure>(measurement.outcome));
  }
}

}  // namespace instr
