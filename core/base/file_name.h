// Names of files and folders that are made for a text, such as the key of a variant.
#pragma once

#include <string>

namespace instr {

// Returns the text if possible, else something similar; never the same for two texts.
std::string make_file_name(const std::string& text);

}  // namespace instr
