#include "core/base/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>

namespace instr {

namespace {

constexpr int kGzipWindow = 15 + 16;  // zlib's largest window; 16 asks for the gzip format

Bytef* as_bytes(const char* text) {
  // zlib's interface wants a pointer to non-const, but only reads.
  return reinterpret_cast<Bytef*>(const_cast<char*>(text));
}

uInt piece(std::size_t size) {
  return static_cast<uInt>(std::min<std::size_t>(size, std::numeric_limits<uInt>::max()));
}

// Owns an inflating stream.
struct Inflater {
  z_stream stream{};
  bool ready = inflateInit2(&stream, kGzipWindow) == Z_OK;

  Inflater() = default;
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() {
    if (ready) inflateEnd(&stream);
  }
};

}  // namespace

Expected<std::string> gzip_member(std::string_view text) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, 8,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    return fail("zlib could not be started");
  }
  // deflateBound() accounts for the gzip header, so one call is enough.
  std::string out(deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
  stream.next_in = as_bytes(text.data());
  stream.avail_in = piece(text.size());
  stream.next_out = as_bytes(out.data());
  stream.avail_out = piece(out.size());
  int status = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (status != Z_STREAM_END) return fail("zlib could not compress the text");
  return out;
}

Expected<GzipMember> gunzip_member(std::string_view bytes, std::size_t begin, std::size_t max) {
  Inflater inflater;
  if (!inflater.ready) return fail("zlib could not be started");
  z_stream& stream = inflater.stream;
  GzipMember member{"", false, begin};
  std::array<char, 65536> buffer;
  for (bool goes_on = true; goes_on;) {
    uInt offered = piece(bytes.size() - member.end);
    stream.next_in = as_bytes(bytes.data() + member.end);
    stream.avail_in = offered;
    stream.next_out = as_bytes(buffer.data());
    stream.avail_out = static_cast<uInt>(buffer.size());
    int status = inflate(&stream, Z_NO_FLUSH);
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) {
      return fail("the gzip data is damaged at byte " + std::to_string(member.end));
    }
    std::size_t used = offered - stream.avail_in;
    std::size_t written = buffer.size() - stream.avail_out;
    member.end += used;
    member.text.append(buffer.data(), written);
    if (member.text.size() > max) return fail("the gzip data is unreasonably large");
    member.is_whole = status == Z_STREAM_END;
    goes_on = !member.is_whole && used + written > 0;
  }
  return member;
}

}  // namespace instr
