#include "core/compile/installation.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "core/base/environment.h"
#include "core/base/near_match.h"

namespace instr {

namespace {

// Resolves links, so that messages name the file that a user may edit, not the build tree's link.
fs::path resolve(const fs::path& path) {
  std::error_code error;
  fs::path real = fs::canonical(path, error);
  return error ? path : real;
}

}  // namespace

Installation find_installation() {
  std::error_code ignored;
  const fs::path folder = fs::path(own_program()).parent_path();
  fs::path share = (folder / INSTR_SHARE).lexically_normal();
  if (!fs::exists(share, ignored)) share = folder / "share/instr_bench";  // a build tree's
  return {resolve(share / "worker").parent_path(), resolve(share / "definitions"),
          resolve(share / "suites"), resolve(share / "selftest"), share / "AGENTS.md"};
}

std::vector<std::string> list_suites() {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(find_installation().suites, ignored)) {
    if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Expected<fs::path> find_suite(const std::string& name) {
  std::vector<std::pair<std::string, fs::path>> known;
  for (const std::string& suite : list_suites()) {
    known.emplace_back(suite, find_installation().suites / (suite + ".toml"));
  }
  return find_meaning(name, known).map_error([&](const std::string& advice) {
    return Error{{}, "`" + name + "` is not a suite", advice};
  });
}

}  // namespace instr
