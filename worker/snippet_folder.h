// The folder in which a unit is loaded and its snippets run: a private folder among the worker's
// files, emptied for each snippet except for the link to LibTorch's libraries.
#pragma once

#include <string>

namespace instr {

// Creates the folder anew and enters it; its name has a fixed length. Returns an error's text, or
// an empty one.
std::string enter_snippet_folder();

// Opens the folder; -1 if that fails. Does not use the heap.
int open_snippet_folder();

void remove_snippet_folder();

}  // namespace instr
