// Files beside a results file, FILE.functions.jsonl.gz and the like: what is known of each
// measurement beyond its numbers, which is much larger and mostly not read. All have this form:
//
//   {"functions_schema":3}                                      the kind of the file
//   {"schema":1,"program":"instr_bench",...}                    the first line of FILE, as it is
//   there
//   {"first":0,"names":[["at::mm(...)","libtorch_cpu.so"],...]} functions and libraries, numbered
//   on
//                                                               from `first`
//   {"key":"matmul/mm/...",...}                                 of a measurement, by these numbers
//   {"end":{"measurements":2}}                                  if all are there
//
// A name is written once, before the first measurement that uses it. Each measurement's lines are a
// gzip member of their own: concatenated members are a gzip file (`zcat` shows the lines), a kill
// truncates only one measurement, and one can be read without the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/error.h"
#include "core/base/gzip.h"

namespace simdjson::dom {
class element;
}

namespace instr {

// How to treat what an unfinished run wrote.
enum class Incomplete { kRefused, kAllowed };

struct SideKind {
  const char* word;    // in the file's name and its first line
  const char* things;  // in messages: "functions"
  int schema;
};

inline constexpr SideKind kFunctionsFile{"functions", "functions", 3};
inline constexpr SideKind kCallTreesFile{"call_trees", "call trees", 1};
inline constexpr SideKind kLinesFile{"lines", "costs of lines", 1};
inline constexpr SideKind kSideKinds[] = {kFunctionsFile, kCallTreesFile, kLinesFile};

// The path of that file of a results file.
std::filesystem::path side_path(const std::filesystem::path& file, const SideKind& kind);

// Makes the lines, in their order.
class SideLines {
 public:
  // `header`: the first line of the results file, without its newline.
  static std::string start(const SideKind& kind, std::string_view header);

  // For the next measurement.
  std::size_t number_of(const std::string& function, const std::string& object);

  // `members`: of the measurement's object, behind its key: "\"functions\":[...]".
  std::string next(const std::string& key, const std::string& members);

  // After the last one.
  std::string end() const;

 private:
  std::unordered_map<std::string, std::size_t> numbers_;
  std::size_t written_ = 0;  // names
  std::string names_;        // the others
  std::size_t measurements_ = 0;
};

// More than instr_bench ever writes: a small file may decompress to any size.
struct SideLimits {
  // Bytes of a member's text. A measurement's is some kilobytes; in a recompressed file all of them
  // are one member.
  std::size_t member = std::size_t{128} << 20;
  std::size_t text = std::size_t{2} << 30;  // of all members
  std::size_t line = std::size_t{16} << 20;
  std::size_t names = 1'000'000;
};

struct SideName {
  std::string function;
  std::string object;
};

// The line of a measurement.
struct SideLine {
  std::string_view text;  // valid until the next call
  int line = 0;           // in the text of the whole file, from 1
};

// Called for each measurement of a file, in the file's order. An error is that of reading the file.
using OnSideLine = std::function<Expected<void>(const std::string& key, const SideLine& line)>;

class JsonReader;

// Keeps the compressed file, its names and the position of each key; a measurement is decompressed
// on demand. Not to be used by two threads at once.
class SideFile {
 public:
  // `name`: for messages.
  SideFile(const SideKind& kind, std::string bytes, std::string name, const SideLimits& limits);
  ~SideFile();

  // To be called first. `header`: the first line of the results file. Errors, with the file and its
  // line: not such a file, another schema, written for another results file, damaged, or truncated,
  // unless that is allowed: then the complete measurements are there.
  Expected<void> index(const std::string& header, Incomplete incomplete,
                       const OnSideLine& on_line = nullptr);

  // Nothing if the key is not there.
  Expected<std::optional<SideLine>> of(const std::string& key);

  const std::vector<SideName>& names() const { return names_; }

  // Nothing if there is no such number.
  std::optional<SideName> name_of(std::uint64_t number) const;

  // For a line that cannot be read.
  tl::unexpected<Error> broken(int line, std::string what, std::string advice = "") const;
  tl::unexpected<Error> unreadable(int line) const;

 private:
  struct Place {
    std::size_t member = 0;  // the byte of the file where its gzip member begins
    std::size_t begin = 0;   // in the member's text
    std::size_t size = 0;
    int line = 0;
  };

  Expected<void> take_member(const GzipMember& member, std::size_t at, const std::string& header,
                             int& line, const OnSideLine& on_line);
  Expected<void> take_line(std::string_view line, const Place& place, const std::string& header,
                           const OnSideLine& on_line);
  Expected<void> check_schema(std::string_view line) const;
  Expected<void> take_end(std::string_view line, int number);
  Expected<void> take_names(std::string_view line, int number);

  SideKind kind_;
  std::string packed_;
  std::string name_;
  SideLimits limits_;
  std::vector<SideName> names_;
  std::unordered_map<std::string, Place> places_;
  bool is_complete_ = false;
  std::unique_ptr<JsonReader> json_;
  std::optional<std::string> unpacked_;  // the member at `unpacked_at_`
  std::size_t unpacked_at_ = 0;
};

// The one beside the results file `file`; null if there is none.
Expected<std::shared_ptr<SideFile>> read_side_file(const std::filesystem::path& file,
                                                   const SideKind& kind);

// What a side file has of a key; null: nothing. Not to be called from two threads at once.
template <class Value>
using ValuesOf = std::function<Expected<std::shared_ptr<const Value>>(const std::string& key)>;

// Returns the values of `file`, which is indexed at the first use; none if `file` is null.
// `value_of` parses a measurement's line, and returns null if it is malformed.
template <class Value>
ValuesOf<Value> values_in(const std::shared_ptr<SideFile>& file, const std::string& header,
                          Incomplete incomplete,
                          std::shared_ptr<const Value> (*value_of)(std::string_view line,
                                                                   const SideFile&)) {
  if (!file) return [](const std::string&) { return nullptr; };
  // Once, however often the function is copied.
  auto indexed = std::make_shared<std::optional<Expected<void>>>();
  return [file, header, incomplete, value_of,
          indexed](const std::string& key) -> Expected<std::shared_ptr<const Value>> {
    if (!*indexed) *indexed = file->index(header, incomplete);
    if (!**indexed) return tl::unexpected((*indexed)->error());
    TRY_ASSIGN(auto found, file->of(key));
    if (!found) return nullptr;
    auto value = value_of(found->text, *file);
    if (!value) return file->unreadable(found->line);
    return value;
  };
}

// The last line, without its newline, of a complete file, of results or beside them: a truncated
// one lacks it. `measurements` is how many the file has.
std::string end_line(std::size_t measurements);

// The number in such a line; nothing for any other `line`.
std::optional<std::size_t> measurements_at_end(simdjson::dom::element line);

}  // namespace instr
