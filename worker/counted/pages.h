// Makes forking this process cheap.
#pragma once

namespace instr {

// Asks the kernel to keep Valgrind's own memory (symbols, translations; hundreds of MB) in huge
// pages, so that a fork copies hundreds of page-table entries, not a hundred thousand. Content and
// addresses do not change; if the kernel refuses, forks only take longer.
void gather_pages();

}  // namespace instr
