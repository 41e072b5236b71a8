#include "core/base/content_hash.h"

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <vector>

#include "core/base/process.h"

namespace instr {

namespace fs = std::filesystem;

namespace {

std::string hexadecimal(XXH128_hash_t hash) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (unsigned char byte : canonical.digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace

std::string content_hash(std::string_view bytes) {
  return hexadecimal(XXH3_128bits(bytes.data(), bytes.size()));
}

std::optional<std::string> file_hash(const fs::path& file) {
  Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return std::nullopt;
  XXH3_state_t* state = XXH3_createState();
  XXH3_128bits_reset(state);
  std::vector<char> buffer(1 << 18);
  ssize_t got = 0;
  while ((got = ::read(fd.get(), buffer.data(), buffer.size())) != 0) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) break;
    XXH3_128bits_update(state, buffer.data(), static_cast<std::size_t>(got));
  }
  XXH128_hash_t hash = XXH3_128bits_digest(state);
  XXH3_freeState(state);
  if (got < 0) return std::nullopt;
  return hexadecimal(hash);
}

}  // namespace instr
