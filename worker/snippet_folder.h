// The folder that a unit is loaded in and its snippets run in: a private one among the worker's
// files, empty except for the link to LibTorch's libraries, and emptied for each snippet.
#pragma once

#include <string>

namespace instr {

// Creates it anew, empty, and enters it; its name has a fixed length. Returns an empty text, or
// what went wrong.
std::string enter_snippet_folder();

// Removes it with all that is in it.
void remove_snippet_folder();

}  // namespace instr
