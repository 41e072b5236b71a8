#include "core/results/sealed_line.h"

#include <fmt/format.h>
#include <zlib.h>

namespace instr {

namespace {

constexpr std::string_view kMember = ",\"check\":\"";
constexpr std::size_t kDigits = 8;

std::string checksum(std::string_view line) {
  return fmt::format(
      "{:0{}x}",
      crc32(0, reinterpret_cast<const Bytef*>(line.data()), static_cast<uInt>(line.size())),
      kDigits);
}

}  // namespace

std::string sealed(std::string line) {
  const std::string check = checksum(line);
  line.pop_back();  // the brace
  return line + std::string(kMember) + check + "\"}";
}

bool is_as_sealed(std::string_view line) {
  const std::size_t length = kMember.size() + kDigits + 2;
  if (line.size() <= length) return true;
  const std::string_view seal = line.substr(line.size() - length);
  if (!seal.starts_with(kMember) || !seal.ends_with("\"}")) return true;
  const std::string text = std::string(line.substr(0, line.size() - length)) + "}";
  return seal.substr(kMember.size(), kDigits) == checksum(text);
}

}  // namespace instr
