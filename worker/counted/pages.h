// Makes forking this process cheap.
#pragma once

namespace instr {

// Asks the kernel to hold Valgrind's own memory (symbols, translations; hundreds of MB) in huge
// pages, so that a fork copies hundreds of page-table entries, not a hundred thousand. Content and
// addresses stay as they are; if the kernel refuses, forks merely take longer.
void gather_pages();

}  // namespace instr
