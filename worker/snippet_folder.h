// The folder that a unit is loaded in and its snippets run in: a private one among the worker's
// files, empty but for the link by which LibTorch's libraries are found, and empty again for each
// snippet.
#pragma once

#include <string>

namespace instr {

// Makes it anew, with nothing of what was in it, and goes there; its name has one length. An empty
// text, or what went wrong.
std::string enter_snippet_folder();

// Removes it with all that is in it.
void remove_snippet_folder();

}  // namespace instr
