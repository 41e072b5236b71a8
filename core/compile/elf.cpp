#include "core/compile/elf.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <set>

#include "core/base/process.h"
#include "core/compile/cache.h"

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

// Returns the values of this type at a place of the file; fewer if the file is too short.
template <class T>
std::vector<T> read_values(const std::string& file, std::uint64_t offset, std::uint64_t count) {
  if (offset > file.size() || count > (file.size() - offset) / sizeof(T)) return {};
  std::vector<T> values(count);
  std::memcpy(values.data(), file.data() + offset, count * sizeof(T));
  return values;
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

std::optional<std::vector<std::string>> read_exports(const std::filesystem::path& file) {
  const std::string bytes = read_text(file).value_or("");
  const auto headers = read_values<Elf64_Ehdr>(bytes, 0, 1);
  if (headers.empty() || std::memcmp(headers[0].e_ident, ELFMAG, SELFMAG) != 0) return std::nullopt;
  const auto sections = read_values<Elf64_Shdr>(bytes, headers[0].e_shoff, headers[0].e_shnum);
  std::set<std::string> names;
  for (const Elf64_Shdr& table : sections) {
    if (table.sh_type != SHT_DYNSYM || table.sh_link >= sections.size()) continue;
    const std::uint64_t texts = sections[table.sh_link].sh_offset;
    for (const auto& symbol :
         read_values<Elf64_Sym>(bytes, table.sh_offset, table.sh_size / sizeof(Elf64_Sym))) {
      if (symbol.st_shndx == SHN_UNDEF || texts + symbol.st_name >= bytes.size()) continue;
      names.emplace(bytes.c_str() + texts + symbol.st_name);
    }
  }
  if (names.empty()) return std::nullopt;
  return std::vector<std::string>(names.begin(), names.end());
}

}  // namespace instr
