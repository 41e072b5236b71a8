// The files whose code a process has loaded: shared objects and, of an interpreter, modules.
#pragma once

namespace instr {

// Writes their paths to a file in the work folder, one per line. To be called once everything is
// counted. Returns false if they could not be written.
bool write_loaded_files();

}  // namespace instr
