// A unit of Python: a line for each variant, its symbol, a tab and its code in hexadecimal digits
// (compile_snippets.py). It is read by C++, since whatever Python does in a host stays in the
// interpreter's free lists, where a snippet would find it.
#include "worker/unit.h"

#include <fstream>
#include <map>

#include "worker/python/loaded_code.h"
#include "worker/wire.h"

namespace instr {

void run_python_snippet(instr_context* context);
void run_python_empty_snippet(instr_context* context);

namespace {

std::map<std::string, std::string> codes;
const std::string* found = nullptr;

std::string bytes_of(const std::string& digits) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    const int byte = wire::hex_digit(digits[i]) * 16 + wire::hex_digit(digits[i + 1]);
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

}  // namespace

std::string load_unit(const std::string& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos) return "this is not a unit";
    codes[line.substr(0, tab)] = bytes_of(line.substr(tab + 1));
  }
  return codes.contains(INSTR_EMPTY_SNIPPET) ? "" : "the unit cannot be read";
}

FoundSnippet find_snippet(const std::string& symbol) {
  const auto code = codes.find(symbol);
  if (code == codes.end()) return {};
  found = &code->second;
  return {run_python_snippet, run_python_empty_snippet};
}

std::string_view found_code() { return *found; }
std::string_view empty_code() { return codes.at(INSTR_EMPTY_SNIPPET); }

}  // namespace instr
