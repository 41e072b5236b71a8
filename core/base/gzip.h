// Text in gzip members: members appended one after another form one valid gzip file, and each stays
// readable if the rest is cut off.
#pragma once

#include <string>
#include <string_view>

#include "core/base/error.h"

namespace instr {

// One gzip member that holds `text`.
Expected<std::string> gzip_member(std::string_view text);

struct GzipMember {
  std::string text;  // as much of it as there is, if it is cut off
  bool is_whole = true;
  std::size_t end = 0;  // where the next one begins
};

// The member that begins at byte `begin` of `bytes`. An error if that is not gzip, or damaged,
// or holds more than `most` bytes of text.
Expected<GzipMember> gunzip_member(std::string_view bytes, std::size_t begin,
                                   std::size_t max = std::size_t{1} << 30);

}  // namespace instr
