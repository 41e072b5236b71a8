// Text in gzip members: members appended one after the other are one valid gzip file, so that each
// stays readable when what comes after it is cut off.
#pragma once

#include <string>
#include <string_view>

#include "core/error.h"

namespace instr {

// One gzip member that holds `text`.
Expected<std::string> gzip_member(std::string_view text);

// The text of all members up to the first that is cut off, of which it gives what there is. An error
// where the bytes are not gzip, or damaged, or hold more than `limit` bytes of text.
Expected<std::string> gunzip(std::string_view bytes, std::size_t limit = std::size_t{4} << 30);

}  // namespace instr
