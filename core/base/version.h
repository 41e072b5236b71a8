// The program's version, as --version prints it and results files record it. CMakeLists.txt has it.
#pragma once

namespace instr {

extern const char* const kProgramVersion;

}  // namespace instr
