#pragma once

namespace instr {

// The purpose of a generated function: to be counted and timed, or to hand over its results.
enum class Purpose { kMeasure, kVerify };

}  // namespace instr
