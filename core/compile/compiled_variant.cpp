#include "core/compile/compiled_variant.h"

namespace instr {

Measurement make_compile_failure(const Variant& variant, std::string message) {
  Measurement measurement;
  measurement.variant = variant;
  measurement.outcome = Failure{FailureKind::kCompileError, std::move(message)};
  return measurement;
}

void CompiledVariants::add(const UnitResult& unit) {
  for (const auto& one : unit.compiled) units.emplace(one.variant.key, one);
  for (const auto& one : unit.failed) {
    failures.emplace(one.variant.key, std::get<Failure>(one.outcome));
  }
}

}  // namespace instr
