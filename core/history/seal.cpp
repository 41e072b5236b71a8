#include "core/history/seal.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/content_hash.h"

namespace instr {

namespace {

// Places in the first page, from https://www.sqlite.org/fileformat.html.
constexpr std::size_t kFirstFreePage = 32;
constexpr std::size_t kHeaderSize = 100;
struct Span {
  std::size_t first;
  std::size_t size;
};
// SQLite sets these at the commit: two counters of changes, and its own version.
constexpr Span kSetAtCommit[] = {{24, 4}, {92, 8}};

// The pages of a database.
class Pages {
 public:
  explicit Pages(const SqlDatabase& database)
      : bytes_(database.read_pages()),
        size_(static_cast<std::size_t>(database.integer("PRAGMA page_size"))) {
    if (size_ == 0 || bytes_.size() < std::max(size_, kHeaderSize)) {
      database.fail_as_damaged("its first page is missing");
    }
  }

  void clear_header() {
    for (const auto& [first, size] : kSetAtCommit) bytes_.replace(first, size, size, '\0');
  }

  // Pages have numbers from 1.
  void clear(std::size_t page) {
    if (has(page)) bytes_.replace((page - 1) * size_, size_, size_, '\0');
  }

  // Clears the unused pages, whose content SQLite does not restore when it rolls a transaction
  // back. Their numbers are in a chain of pages: the next one of the chain, a count, and so many
  // numbers.
  void clear_unused() {
    std::size_t chained = number_at(kFirstFreePage);
    for (std::size_t read = 0; has(chained) && read < bytes_.size() / size_; ++read) {
      const std::size_t place = (chained - 1) * size_;
      const std::size_t next = number_at(place);
      const std::size_t count = std::min(number_at(place + 4), size_ / 4 - 2);
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t unused = number_at(place + 8 + 4 * i);
        if (unused != chained) clear(unused);
      }
      chained = next;
    }
  }

  std::string hash() const { return content_hash(bytes_); }

 private:
  bool has(std::size_t page) const { return page > 0 && page <= bytes_.size() / size_; }

  std::size_t number_at(std::size_t place) const {
    std::size_t number = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      number = 256 * number + static_cast<unsigned char>(bytes_[place + i]);
    }
    return number;
  }

  std::string bytes_;
  const std::size_t size_;
};

// Returns the page of the checksum itself, which its hash leaves out; 0 if there is none.
std::int64_t find_own_page(const SqlDatabase& database) {
  return database.integer("SELECT rootpage FROM sqlite_schema WHERE name = 'seal'");
}

std::string hash_pages(const SqlDatabase& database) {
  Pages pages(database);
  pages.clear_unused();
  pages.clear_header();
  pages.clear(static_cast<std::size_t>(find_own_page(database)));
  return pages.hash();
}

void set_digest(const SqlDatabase& database, const std::optional<std::string>& digest) {
  database.prepare("UPDATE seal SET digest = ?").run(digest);
}

}  // namespace

bool check_seal(const SqlDatabase& database, bool has_table) {
  if (!has_table && find_own_page(database) == 0) return false;
  auto seal = database.rows("SELECT digest FROM seal");
  if (!seal.step()) database.fail_as_damaged("its checksum is missing");
  if (seal.is_null(0)) return false;
  if (seal.text(0) == hash_pages(database)) return true;
  database.fail_as_damaged(
      "its content does not match its checksum",
      "restore a copy or, if you or another program changed it and it is right as it is: sqlite3 "
      "FILE 'UPDATE seal SET digest = NULL'");
}

void unseal(const SqlDatabase& database) {
  SqlTransaction transaction(database);
  set_digest(database, std::nullopt);
  transaction.commit();
}

void HistoryTransaction::commit() {
  set_digest(database_, hash_pages(database_));
  transaction_.commit();
}

}  // namespace instr
