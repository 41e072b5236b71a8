// The program's version, as --version prints it and results files record it.
#pragma once

namespace instr {

inline constexpr const char* kProgramVersion = "0.1.0";

}  // namespace instr
