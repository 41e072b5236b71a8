// Files beside a results file, such as FILE.functions.jsonl.gz: data of each measurement that is
// much larger than its numbers and mostly not read. All have this form:
//
//   {"functions_schema":3}                                      the kind of the file
//   {"schema":1,"program":"instr_bench",...}                    the first line of FILE, unchanged
//   {"first":0,"names":[["at::mm(...)","libtorch_cpu.so"],...]} functions with their libraries,
//                                                               numbered from `first` on
//   {"key":"matmul/mm/...",...}                                 a measurement, by these numbers
//   {"end":{"measurements":2}}                                  the end of a complete file
//
// A name is written once, before the first measurement that uses it. Each measurement's lines are a
// gzip member: concatenated members are a gzip file (`zcat` shows the lines), a kill truncates only
// the last measurement, and each can be read without the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
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

// How to treat the files of an unfinished run.
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

// The path of such a file beside the results `file`.
fs::path side_path(const fs::path& file, const SideKind& kind);

// Makes the lines, in their order.
class SideLines {
 public:
  // `header`: the first line of the results file, without its newline.
  static std::string start(const SideKind& kind, std::string_view header);

  // The number of a name, to be used in the next measurement.
  std::size_t number_of(const std::string& function, const std::string& object);

  // Makes the lines of a measurement. `members`: the object of the measurement without its key.
  std::string next(const std::string& key, const nlohmann::ordered_json& members);
  // `members`: as text, "\"functions\":[...]".
  std::string next(const std::string& key, const std::string& members);

  // Makes the line after the last measurement.
  std::string end() const;

 private:
  std::unordered_map<std::string, std::size_t> numbers_;
  std::size_t written_ = 0;  // the number of names that next() has written
  std::string names_;        // the other names
  std::size_t measurements_ = 0;
};

// Limits beyond any file of instr_bench, since a small file may decompress to any size. In bytes.
struct SideLimits {
  // Some kilobytes for a measurement, but a recompressed file is a single member.
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

// Called for each measurement of a file, in the file's order. Reading the file ends with its error.
using OnSideLine = std::function<Expected<void>(const std::string& key, const SideLine& line)>;

class JsonReader;

// Keeps the compressed file, its names and the position of each key; a measurement is decompressed
// on demand. Not to be used by two threads at once.
class SideFile {
 public:
  // `name`: for messages.
  SideFile(const SideKind& kind, std::string bytes, std::string name, const SideLimits& limits);
  ~SideFile();

  // Indexes the measurements; to be called first. `header`: the first line of the results file. The
  // errors name the line: another kind of file, another schema, written for other results, damaged,
  // or truncated. If that is allowed, the complete measurements can be read.
  Expected<void> index(const std::string& header, Incomplete incomplete,
                       const OnSideLine& on_line = nullptr);

  // Finds the line of a measurement; nothing if the file has no such key.
  Expected<std::optional<SideLine>> find(const std::string& key);

  const std::vector<SideName>& names() const { return names_; }

  // Finds the name with this number; nothing if there is none.
  std::optional<SideName> find_name(std::uint64_t number) const;

  // The error of a malformed line.
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

// Reads the side file of this kind beside the results `file`; null if it does not exist.
Expected<std::shared_ptr<SideFile>> read_side_file(const fs::path& file, const SideKind& kind);

// Reads the value of a key from a side file; null if it has none. Not to be called from two threads
// at once.
template <class Value>
using ValuesOf = std::function<Expected<std::shared_ptr<const Value>>(const std::string& key)>;

// Returns a reader of the values in `file`, which is indexed at the first use. A null `file` has no
// values. `parse` returns null for a malformed line of a measurement.
template <class Value>
ValuesOf<Value> values_in(const std::shared_ptr<SideFile>& file, const std::string& header,
                          Incomplete incomplete,
                          std::shared_ptr<const Value> (*parse)(std::string_view line,
                                                                const SideFile&)) {
  if (!file) return [](const std::string&) { return nullptr; };
  auto indexed = std::make_shared<std::optional<Expected<void>>>();
  return [file, header, incomplete, parse,
          indexed](const std::string& key) -> Expected<std::shared_ptr<const Value>> {
    if (!*indexed) *indexed = file->index(header, incomplete);
    TRY(**indexed);
    TRY_ASSIGN(auto line, file->find(key));
    if (!line) return nullptr;
    auto value = parse(line->text, *file);
    if (!value) return file->unreadable(line->line);
    return value;
  };
}

// The last line, without its newline, of a complete file, of results or beside them.
// `strangers`: as in ResultsHeader.
std::string end_line(std::size_t measurements, const std::vector<std::string>& strangers = {});

// Reads the number of measurements from such a line; nothing for any other `line`.
std::optional<std::size_t> parse_end_line(simdjson::dom::element line);

}  // namespace instr
