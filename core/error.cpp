#include "core/error.h"

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

}  // namespace instr
