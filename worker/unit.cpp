#include "worker/unit.h"

#include <dlfcn.h>

#include <vector>

namespace instr {
namespace {

std::vector<void*> units;

instr_snippet find_function(const std::string& name) {
  return reinterpret_cast<instr_snippet>(const_cast<void*>(find_code(name)));
}

}  // namespace

std::string load_unit(const std::string& path) {
  void* unit = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (unit == nullptr) return dlerror();
  units.push_back(unit);
  return "";
}

const void* find_code(const std::string& symbol) {
  for (void* unit : units) {
    if (const void* code = dlsym(unit, symbol.c_str())) return code;
  }
  return nullptr;
}

FoundSnippet find_snippet(const std::string& symbol) {
  return {find_function(symbol), find_function(INSTR_EMPTY_SNIPPET)};
}

}  // namespace instr
