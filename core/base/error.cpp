#include "core/base/error.h"

#include <algorithm>
#include <utility>

namespace instr {

std::string to_string(const SourceLocation& where) {
  if (where.file.empty()) return "";
  std::string text = where.file;
  if (where.line > 0) text += ":" + std::to_string(where.line);
  if (where.line > 0 && where.column > 0) text += ":" + std::to_string(where.column);
  return text;
}

std::string to_string(const Error& error) {
  std::string text = to_string(error.where);
  if (!text.empty()) text += ": ";
  text += error.what;
  if (!error.advice.empty()) text += ": " + error.advice;
  return text;
}

void sort_by_place(Errors& errors) {
  std::ranges::stable_sort(errors, {}, [](const Error& error) {
    return std::pair(error.where.line, error.where.column);
  });
}

}  // namespace instr
