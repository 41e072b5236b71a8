#include "worker/unit.h"

#include <dlfcn.h>

namespace instr {
namespace {

void* unit = nullptr;

instr_snippet function(const char* name) {
  return unit == nullptr ? nullptr : reinterpret_cast<instr_snippet>(dlsym(unit, name));
}

}  // namespace

std::string load_unit(const std::string& path) {
  unit = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  return unit == nullptr ? dlerror() : "";
}

FoundSnippet find_snippet(const std::string& symbol) {
  return {function(symbol.c_str()), function(INSTR_EMPTY_SNIPPET)};
}

}  // namespace instr
