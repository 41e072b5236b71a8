// Errors as values: the place, the problem, and what to do about it.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace instr {

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

using Errors = std::vector<Error>;

template <class T>
using Expected = tl::expected<T, Error>;

// "file:line:column"; parts that are not known are left out, and all of it without a file.
std::string to_string(const SourceLocation& where);

// "file:line:column: what: advice"; parts that are not known are left out.
std::string to_string(const Error& error);

// By line and column, for errors of one file.
void sort_by_place(Errors& errors);

// An error without a place.
inline tl::unexpected<Error> fail(std::string what, std::string advice = "") {
  return tl::unexpected<Error>(Error{{}, std::move(what), std::move(advice)});
}

}  // namespace instr
