// The program's version, as printed by --version and recorded in results files. It comes from
// CMakeLists.txt.
#pragma once

namespace instr {

extern const char* const kProgramVersion;

}  // namespace instr
