#include "worker/python/code_object.h"
#include "worker/python/counted/found_code.h"
#include "worker/unit.h"

namespace instr {
namespace {

const PythonCode* snippet = nullptr;
const PythonCode* empty = nullptr;

}  // namespace

FoundSnippet find_snippet(const std::string& symbol) {
  snippet = static_cast<const PythonCode*>(find_code(symbol));
  empty = static_cast<const PythonCode*>(find_code(INSTR_EMPTY_SNIPPET));
  return {snippet == nullptr ? nullptr : run_python_snippet,
          empty == nullptr ? nullptr : run_python_empty_snippet};
}

std::string_view found_code() { return *snippet; }
std::string_view empty_code() { return *empty; }

}  // namespace instr
