#include "core/base/error.h"

#include <algorithm>
#include <utility>

namespace instr {

std::string to_string(const Error& error) {
  std::string text;
  if (!error.where.file.empty()) {
    text = error.where.file;
    if (error.where.line > 0) text += ":" + std::to_string(error.where.line);
    if (error.where.line > 0 && error.where.column > 0) {
      text += ":" + std::to_string(error.where.column);
    }
    text += ": ";
  }
  text += error.what;
  if (!error.advice.empty()) text += ": " + error.advice;
  return text;
}

void sort_by_place(Errors& errors) {
  std::stable_sort(errors.begin(), errors.end(), [](const Error& a, const Error& b) {
    return std::pair(a.where.line, a.where.column) < std::pair(b.where.line, b.where.column);
  });
}

}  // namespace instr
