// Reads Callgrind's output: totals, for each function of each object its self cost and how often it
// was called, and what its calls of others cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"

namespace instr {

struct ProfileFunction {
  std::string function;
  std::string object;               // path of the shared object as recorded; "???" where unknown
  std::vector<std::uint64_t> self;  // one cost for each event, without what it called
  // From wherever, itself included. Callgrind counts a call as it is made: one that was under way
  // when the profile began is not among them; one made while collection was off, from code that ran
  // while it was on, too, is.
  std::uint64_t calls = 0;
  // If it has paths: the functions that were called, one by the next, for this one to be, as in
  // Callgrind's names: "'callee'caller", the outermost last. Empty for one called by none.
  std::string path = {};
  // Its begin, if lines were read and a call of it has it: in Profile::files; line 0: unknown.
  std::size_t file = 0;
  int line = 0;

  // Returns the file name of the shared object.
  std::string library() const { return std::filesystem::path(object).filename().string(); }
};

// All calls of one function by another.
struct ProfileCalls {
  std::size_t caller = 0;  // in Profile::functions, as the callee is
  std::size_t callee = 0;
  std::uint64_t count = 0;
  std::vector<std::uint64_t> cost;  // of the callee and of all that it called, one for each event
};

// What a line of source cost in one function.
struct ProfileLine {
  std::size_t function = 0;  // in Profile::functions
  std::size_t file = 0;      // in Profile::files
  int line = 0;              // 0 where it is not known
  std::uint64_t self = 0;    // of the first event
  std::uint64_t called = 0;  // the same of all that was called there
};

struct Profile {
  std::vector<std::string> events;         // "Ir", ...
  std::vector<std::uint64_t> totals;       // one for each event; summed over the file's parts
  std::vector<ProfileFunction> functions;  // in the order they appear, each once
  std::vector<ProfileCalls> calls;         // each pair once
  std::vector<std::string> files;          // if lines were read, as debug information names them
  std::vector<ProfileLine> lines;          // each of a function once; if they were read
  int parts = 0;

  // Returns the position of an event; nothing if the profile lacks it.
  std::optional<std::size_t> find_event(std::string_view event) const;
};

// Where the path begins in such a name: "f'2'callee'caller", in which 2 is a level of recursion.
// Its size if there is none.
std::size_t path_begin(std::string_view name);

// Whether each path of calls has a cost of its own (--separate-callers).
enum class ProfilePaths { kMerged, kSeparate };

// Whether to read the costs of lines, too.
enum class ProfileLines { kIgnored, kRead };

// `text`: a whole file in Callgrind's format (name and position compression, any number of parts).
// `name` stands for it in messages. Truncated, empty or foreign text is an Error with the line.
Expected<Profile> parse_profile(std::string_view text, const std::string& name,
                                ProfilePaths paths = ProfilePaths::kMerged,
                                ProfileLines lines = ProfileLines::kIgnored);

Expected<Profile> read_profile(const std::filesystem::path& path,
                               ProfilePaths paths = ProfilePaths::kMerged,
                               ProfileLines lines = ProfileLines::kIgnored);

// Names the interpreter's loop in a profile whose paths are separate. What was running when
// instrumentation began, Callgrind names after the place to which the first
// function returns. If that is in one that ends in a jump, as CPython's PyObject_Vectorcall does,
// its own return is missed, and all that its caller, the interpreter's loop, does is taken for it.
// Renames it where it is, and at the ends of paths.
void name_loop(std::vector<ProfileFunction>& functions);

}  // namespace instr
