// Text in gzip members: members appended one after another form one valid gzip file, and each stays
// readable if the rest is truncated.
#pragma once

#include <string>
#include <string_view>

#include "core/base/error.h"

namespace instr {

// Compresses `text` to one gzip member.
Expected<std::string> gzip_member(std::string_view text);

struct GzipMember {
  std::string text;  // the text; only its beginning if the member is truncated
  bool is_whole = true;
  std::size_t end = 0;  // the byte at which the next member begins
};

// Reads the member that begins at byte `begin` of `bytes`. An error if that is not gzip, or is
// damaged, or holds more than `max` bytes of text.
Expected<GzipMember> gunzip_member(std::string_view bytes, std::size_t begin,
                                   std::size_t max = std::size_t{1} << 30);

}  // namespace instr
