// Errors as values: the place, the problem, and the advice. The macros at the end pass an error on
// to the caller.
#pragma once

#include <filesystem>
#include <string>
#include <tl/expected.hpp>
#include <type_traits>
#include <utility>
#include <vector>

namespace instr {

namespace fs = std::filesystem;

// A place in a text file. Lines and columns count from 1; 0 means "not known".
struct SourceLocation {
  std::string file;
  int line = 0;
  int column = 0;

  bool operator==(const SourceLocation&) const = default;
};

struct Error {
  SourceLocation where;  // empty file: the error has no place in a file
  std::string what;
  std::string advice;  // what to do; may be empty

  bool operator==(const Error&) const = default;
};

// An Error converts to Errors, so that a function that reports several can call one that reports
// a single error.
struct Errors : std::vector<Error> {
  using std::vector<Error>::vector;
  Errors(Error error) { push_back(std::move(error)); }
};

template <class T>
using Expected = tl::expected<T, Error>;

// "file:line:column"; parts that are not known are left out. Empty without a file.
std::string to_string(const SourceLocation& where);

// "file:line:column: what: advice"; parts that are not known are left out.
std::string to_string(const Error& error);

// Sorts errors of one file by line and column.
void sort_by_place(Errors& errors);

// An error to return: at a place, in a file, or without a place.
inline tl::unexpected<Error> fail(Error error) { return tl::unexpected(std::move(error)); }
inline tl::unexpected<Errors> fail(Errors errors) { return tl::unexpected(std::move(errors)); }
inline tl::unexpected<Error> fail_at(SourceLocation where, std::string what,
                                     std::string advice = "") {
  return fail(Error{std::move(where), std::move(what), std::move(advice)});
}
template <class Path, class = std::enable_if_t<std::is_convertible_v<const Path&, fs::path>>>
tl::unexpected<Error> fail_at(const Path& file, std::string what, std::string advice = "") {
  return fail_at({fs::path(file).string()}, std::move(what), std::move(advice));
}
inline tl::unexpected<Error> fail(std::string what, std::string advice = "") {
  return fail_at({}, std::move(what), std::move(advice));
}

}  // namespace instr

// Returns the error of an Expected, if it has one, from the function around it. An Expected with a
// name is left as it is.
#define TRY(...)                            \
  if (auto&& tried = (__VA_ARGS__); !tried) \
  return tl::unexpected(std::forward<decltype(tried)>(tried).error())

// Returns the error likewise, and otherwise declares a variable with the value:
//   TRY_ASSIGN(const auto text, read_file(path));
#define TRY_ASSIGN(declaration, ...) \
  TRY_ASSIGN_AS(INSTR_JOIN(tried_, __COUNTER__), declaration, __VA_ARGS__)
#define TRY_ASSIGN_AS(tried, declaration, ...)                                     \
  auto&& tried = (__VA_ARGS__);                                                    \
  if (!tried) return tl::unexpected(std::forward<decltype(tried)>(tried).error()); \
  declaration = *std::forward<decltype(tried)>(tried)
#define INSTR_JOIN(a, b) INSTR_JOIN_NOW(a, b)
#define INSTR_JOIN_NOW(a, b) a##b
