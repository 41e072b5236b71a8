#include "core/results/sealed_line.h"

#include <fmt/format.h>
#include <zlib.h>

namespace instr {

namespace {

constexpr std::string_view kMember = ",\"check\":\"";
constexpr std::size_t kDigits = 8;
constexpr std::size_t kSealLength = kMember.size() + kDigits + 2;

// The checksum of an object; `open` is its text without the closing brace.
std::string checksum(std::string_view open) {
  const auto add = [](uLong sum, std::string_view text) {
    return crc32(sum, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size()));
  };
  return fmt::format("{:0{}x}", add(add(0, open), "}"), kDigits);
}

}  // namespace

std::string sealed(std::string line) {
  line.pop_back();  // the brace
  const std::string check = checksum(line);
  return line.append(kMember).append(check).append("\"}");
}

bool is_sealed(std::string_view line) {
  if (line.size() <= kSealLength) return false;
  const std::string_view seal = line.substr(line.size() - kSealLength);
  return seal.starts_with(kMember) && seal.ends_with("\"}");
}

bool is_as_sealed(std::string_view line) {
  if (!is_sealed(line)) return true;
  const std::string_view seal = line.substr(line.size() - kSealLength);
  return seal.substr(kMember.size(), kDigits) ==
         checksum(line.substr(0, line.size() - kSealLength));
}

}  // namespace instr
