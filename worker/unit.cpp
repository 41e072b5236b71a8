#include "worker/unit.h"

#include <dlfcn.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <vector>

namespace instr {
namespace {

std::vector<void*> units;

instr_snippet find_function(const std::string& name) {
  return reinterpret_cast<instr_snippet>(const_cast<void*>(find_code(name)));
}

// Limits files while a unit is loaded: its constructors print to the worker's log, which all hosts
// share.
class LogLimit {
 public:
  LogLimit() {
    constexpr rlim_t kMaxPrinted = 16 << 20;
    struct stat log {};
    if (getrlimit(RLIMIT_FSIZE, &before_) != 0 || fstat(2, &log) != 0) return;
    const rlimit limit{static_cast<rlim_t>(log.st_size) + kMaxPrinted, before_.rlim_max};
    is_set_ = setrlimit(RLIMIT_FSIZE, &limit) == 0;
  }
  ~LogLimit() {
    if (is_set_) setrlimit(RLIMIT_FSIZE, &before_);
  }
  LogLimit(const LogLimit&) = delete;
  LogLimit& operator=(const LogLimit&) = delete;

 private:
  rlimit before_{};
  bool is_set_ = false;
};

}  // namespace

std::string load_unit(const std::string& path) {
  const LogLimit limit;
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
