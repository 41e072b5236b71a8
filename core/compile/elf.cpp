#include "core/compile/elf.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
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

constexpr std::size_t kMaxTableBytes = std::size_t{256} << 20;

// An ELF file's sections, of which only those that are asked for are read.
class Sections {
 public:
  explicit Sections(const std::filesystem::path& file)
      : fd_(::open(file.c_str(), O_RDONLY | O_CLOEXEC)) {
    const auto headers = fd_ ? read_values<Elf64_Ehdr>(0, 1) : std::vector<Elf64_Ehdr>{};
    if (headers.empty() || std::memcmp(headers[0].e_ident, ELFMAG, SELFMAG) != 0 ||
        headers[0].e_ident[EI_CLASS] != ELFCLASS64) {
      return;
    }
    headers_ = read_values<Elf64_Shdr>(headers[0].e_shoff, headers[0].e_shnum);
  }

  // Returns the first section of this type, or null.
  const Elf64_Shdr* find(Elf64_Word type) const {
    const auto it =
        std::find_if(headers_.begin(), headers_.end(),
                     [type](const Elf64_Shdr& header) { return header.sh_type == type; });
    return it != headers_.end() ? &*it : nullptr;
  }

  // Returns the section's values; none if there is no section or the file is too short.
  template <class T>
  std::vector<T> read(const Elf64_Shdr* section) const {
    if (section == nullptr) return {};
    return read_values<T>(section->sh_offset, section->sh_size / sizeof(T));
  }

  // Returns the texts that belong to a section, and end with a zero.
  std::string read_texts(const Elf64_Shdr* section) const {
    if (section == nullptr || section->sh_link >= headers_.size()) return {};
    const auto bytes = read<char>(&headers_[section->sh_link]);
    return {bytes.begin(), bytes.end()};
  }

 private:
  template <class T>
  std::vector<T> read_values(std::uint64_t offset, std::uint64_t count) const {
    if (count > kMaxTableBytes / sizeof(T)) return {};
    std::vector<T> values(count);
    if (!read_at(fd_.get(), offset, values.data(), count * sizeof(T))) return {};
    return values;
  }

  Fd fd_;
  std::vector<Elf64_Shdr> headers_;
};

// Returns the text at a place of a table of texts; empty if the table is too short.
std::string text_at(const std::string& texts, std::uint64_t at) {
  return at < texts.size() ? std::string(texts.c_str() + at) : "";
}

// Copies a structure from a place in a section's bytes; false if they are too few.
template <class T>
bool copy_at(const std::vector<char>& bytes, std::uint64_t at, T& to) {
  if (at > bytes.size() || bytes.size() - at < sizeof to) return false;
  std::memcpy(&to, &bytes[at], sizeof to);
  return true;
}

// Returns the versions that a shared object needs, by their numbers in its table of symbols; the
// names are empty.
std::map<unsigned, Import> read_needed_versions(const Sections& sections) {
  const Elf64_Shdr* const section = sections.find(SHT_GNU_verneed);
  const auto bytes = sections.read<char>(section);
  const std::string texts = sections.read_texts(section);
  std::map<unsigned, Import> versions;
  Elf64_Verneed library;
  for (std::uint64_t at = 0; copy_at(bytes, at, library); at += library.vn_next) {
    Elf64_Vernaux version;
    std::uint64_t version_at = at + library.vn_aux;
    for (unsigned i = 0; i < library.vn_cnt && copy_at(bytes, version_at, version); ++i) {
      versions[version.vna_other] = {"", text_at(texts, version.vna_name),
                                     text_at(texts, library.vn_file)};
      version_at += version.vna_next;
    }
    if (library.vn_next == 0) break;
  }
  return versions;
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
  const Sections sections(file);
  const Elf64_Shdr* const table = sections.find(SHT_DYNSYM);
  const std::string texts = sections.read_texts(table);
  std::set<std::string> names;
  for (const auto& symbol : sections.read<Elf64_Sym>(table)) {
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= texts.size()) continue;
    names.insert(text_at(texts, symbol.st_name));
  }
  if (names.empty()) return std::nullopt;
  return std::vector<std::string>(names.begin(), names.end());
}

std::optional<Imports> read_imports(const std::filesystem::path& file) {
  const Sections sections(file);
  const Elf64_Shdr* const table = sections.find(SHT_DYNSYM);
  const Elf64_Shdr* const dynamic = sections.find(SHT_DYNAMIC);
  if (table == nullptr || dynamic == nullptr) return std::nullopt;
  Imports imports;
  std::string texts = sections.read_texts(dynamic);
  for (const auto& entry : sections.read<Elf64_Dyn>(dynamic))
    if (entry.d_tag == DT_NEEDED) imports.libraries.push_back(text_at(texts, entry.d_un.d_val));
  const auto versions = read_needed_versions(sections);
  const auto numbers = sections.read<Elf64_Versym>(sections.find(SHT_GNU_versym));
  const auto symbols = sections.read<Elf64_Sym>(table);
  texts = sections.read_texts(table);
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    const std::string name = text_at(texts, symbols[i].st_name);
    if (symbols[i].st_shndx != SHN_UNDEF || name.empty()) continue;
    const auto it = versions.find(i < numbers.size() ? numbers[i] & 0x7FFFu : 0u);
    Import import = it != versions.end() ? it->second : Import{};
    import.name = name;
    imports.symbols.push_back(std::move(import));
  }
  return imports;
}

}  // namespace instr
