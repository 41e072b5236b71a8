// Reads Callgrind's output: totals, the self costs and calls of each function of each object, and
// the costs of calls.
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
  std::string object;               // path of the shared object as recorded; "???" if unknown
  std::vector<std::uint64_t> self;  // one cost for each event, without calls
  // By all callers, itself included. Callgrind counts a call when it is made: also while collection
  // is off, if its caller also ran while it was on; not if the profile began during the call.
  std::uint64_t calls = 0;
  // In a profile with paths: the callers as in Callgrind's names, "'callee'caller", the outermost
  // last. Empty if it has no caller.
  std::string path = {};
  // Its begin, if lines were read and it was called; line 0: unknown.
  std::size_t file = 0;  // index into Profile::files
  int line = 0;

  // Returns the file name of the shared object.
  std::string library() const { return std::filesystem::path(object).filename().string(); }
};

// The calls of a function by another.
struct ProfileCalls {
  std::size_t caller = 0;  // index into Profile::functions, like the callee
  std::size_t callee = 0;
  std::uint64_t count = 0;
  std::vector<std::uint64_t> cost;  // inclusive, one for each event
};

// The cost of a line of source in a function.
struct ProfileLine {
  std::size_t function = 0;  // index into Profile::functions
  std::size_t file = 0;      // index into Profile::files
  int line = 0;              // 0 if unknown
  std::uint64_t self = 0;    // the first event's cost
  std::uint64_t called = 0;  // the first event's cost in calls
};

struct Profile {
  std::vector<std::string> events;         // "Ir", ...
  std::vector<std::uint64_t> totals;       // one for each event; summed over the file's parts
  std::vector<ProfileFunction> functions;  // each once, in order of appearance
  std::vector<ProfileCalls> calls;         // each pair once
  std::vector<std::string> files;          // names from debug information, if lines were read
  std::vector<ProfileLine> lines;          // each of a function once; if they were read
  int parts = 0;

  // Returns the position of an event; nothing if the profile lacks it.
  std::optional<std::size_t> find_event(std::string_view event) const;
};

// Returns where the path begins in "f'2'callee'caller" (2 is a level of recursion); the size of the
// name if it has none.
std::size_t path_begin(std::string_view name);

enum class ProfilePaths { kMerged, kSeparate };  // separate: a cost for each (--separate-callers)
enum class ProfileLines { kIgnored, kRead };

// Parses a whole file in Callgrind's format (name and position compression, any number of parts).
// `name`: of the file, for messages. Truncated, empty or foreign text is an Error with the line.
Expected<Profile> parse_profile(std::string_view text, const std::string& name,
                                ProfilePaths paths = ProfilePaths::kMerged,
                                ProfileLines lines = ProfileLines::kIgnored);

Expected<Profile> read_profile(const std::filesystem::path& path,
                               ProfilePaths paths = ProfilePaths::kMerged,
                               ProfileLines lines = ProfileLines::kIgnored);

// Gives the interpreter's loop its name in a profile whose paths are separate. Callgrind names the
// function that runs when instrumentation begins after the place of the first return. If that is in
// a function that ends in a jump, as CPython's PyObject_Vectorcall does, the costs of its caller,
// the interpreter's loop, get that name, also at the ends of paths.
void name_loop(std::vector<ProfileFunction>& functions);

// Costs of the lines of sources, for code with line numbers. Pure.

// The name of the rest of a count.
inline constexpr const char* kNoLineNumbers = "code without line numbers";

struct LineCost {
  std::string file;
  int line = 0;
  std::int64_t self = 0;                  // instructions of the whole block
  std::optional<std::int64_t> inclusive;  // `self`, and all that is called there; absent if unknown
  std::string text = {};  // the source line, without the blanks around it; empty if unknown
};

// Costs are whole numbers, so that all sums are exact. They need not add up to the count: most code
// has no line numbers.
struct LineCosts {
  std::uint64_t iterations = 1;
  std::vector<LineCost> lines;  // sorted by file and line

  double per_iteration(std::int64_t cost) const {
    return static_cast<double>(cost) / static_cast<double>(iterations);
  }
};

// Returns the costs in a profile with lines, without those of files without a name.
//
// The inclusive cost of a line of a recursive function is that of its outermost calls. It is
// unknown if several functions have calls on the line, as instances of a template do: their calls
// may be nested.
LineCosts line_costs(const Profile& profile, std::uint64_t iterations);

}  // namespace instr
