#include "core/base/version.h"

namespace instr {

const char* const kProgramVersion = INSTR_VERSION;

}  // namespace instr
