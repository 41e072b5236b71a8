#include "core/compile/elf.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "core/base/process.h"
#include "core/compile/cache_files.h"

namespace instr {

namespace {

constexpr std::size_t kMaxNotes = 1 << 20;

bool read_at(int fd, std::uint64_t offset, void* to, std::size_t size) {
  return ::pread(fd, to, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
}

std::size_t align(std::size_t size) { return (size + 3) & ~std::size_t{3}; }

std::optional<std::string> find_build_id(const std::vector<unsigned char>& notes) {
  std::size_t at = 0;
  while (at + sizeof(Elf64_Nhdr) <= notes.size()) {
    Elf64_Nhdr note;
    std::memcpy(&note, &notes[at], sizeof note);
    at += sizeof note;
    std::size_t name = at;
    std::size_t content = name + align(note.n_namesz);
    if (content + note.n_descsz > notes.size()) return std::nullopt;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
        std::memcmp(&notes[name], "GNU", 4) == 0 && note.n_descsz > 0) {
      const auto begin = notes.begin() + static_cast<std::ptrdiff_t>(content);
      return fmt::format("{:02x}", fmt::join(begin, begin + note.n_descsz, ""));
    }
    at = content + align(note.n_descsz);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> read_build_id(const std::filesystem::path& file) {
  Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return std::nullopt;
  Elf64_Ehdr header;
  if (!read_at(fd.get(), 0, &header, sizeof header) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_phentsize != sizeof(Elf64_Phdr)) {
    return std::nullopt;
  }
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!read_at(fd.get(), header.e_phoff + i * sizeof segment, &segment, sizeof segment)) break;
    if (segment.p_type != PT_NOTE || segment.p_filesz > kMaxNotes) continue;
    std::vector<unsigned char> notes(segment.p_filesz);
    if (!read_at(fd.get(), segment.p_offset, notes.data(), notes.size())) continue;
    if (auto id = find_build_id(notes)) return id;
  }
  return std::nullopt;
}

bool file_contains(const std::filesystem::path& file, std::string_view text) {
  auto bytes = read_text(file);
  return bytes && ::memmem(bytes->data(), bytes->size(), text.data(), text.size()) != nullptr;
}

}  // namespace instr
