// A unit for Python: a line for each variant, with its symbol, a tab and its code in hexadecimal
// digits (compile_snippets.py). Read in C++, since objects that Python makes in a host stay in the
// interpreter's free lists, which affect snippets.
#include "worker/unit.h"

#include <fstream>
#include <map>

#include "worker/python/side.h"
#include "worker/wire.h"

namespace instr {
namespace {

std::map<std::string, PythonCode> codes;

PythonCode decode_digits(const std::string& digits) {
  PythonCode bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    const int byte = wire::hex_digit(digits[i]) * 16 + wire::hex_digit(digits[i + 1]);
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

}  // namespace

std::string load_unit(const std::string& path) {
  std::ifstream file(path);
  if (!file) return "the unit cannot be read";
  for (std::string line; std::getline(file, line);) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos) return "this is not a unit";
    codes[line.substr(0, tab)] = decode_digits(line.substr(tab + 1));
  }
  return "";
}

const void* find_code(const std::string& symbol) {
  const auto code = codes.find(symbol);
  return code == codes.end() ? nullptr : &code->second;
}

}  // namespace instr
