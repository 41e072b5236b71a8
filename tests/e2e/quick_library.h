// A team's repository: a small library in C++ with its benchmarks.
#pragma once

#include <string>
#include <vector>

#include "tests/e2e/tested_program.h"

namespace instr::e2e {

inline constexpr const char* kHeader = R"(#pragma once
#include <vector>
namespace quick {
std::vector<float> squares(const std::vector<float>& numbers);
}  // namespace quick
)";

inline constexpr const char* kSource = R"(#include "quick.h"
namespace quick {
std::vector<float> squares(const std::vector<float>& numbers) {
  std::vector<float> result;
  result.reserve(numbers.size());
  for (float number : numbers) result.push_back(number * number);
  return result;
}
}  // namespace quick
)";

inline constexpr const char* kDefinitions = R"(schema = 1
global_setup = '#include "quick.h"'

[build]
include_dirs = ["."]
sources = ["quick.cpp"]

[[benchmark]]
label = "squares"
setup = "std::vector<float> numbers(100, 1.5f);"
stmt = "auto result = quick::squares(numbers);"

[[benchmark]]
label = "scaled"
setup = "auto x = torch::ones({4, 4});"
stmt = "auto y = x * 2;"
)";

inline void write_quick_library(const fs::path& folder) {
  write(folder / "quick.h", kHeader);
  write(folder / "quick.cpp", kSource);
  write(folder / "quick.toml", kDefinitions);
}

// Runs the program in that folder.
inline CommandResult run_in(const fs::path& folder, std::vector<std::string> arguments) {
  SpawnOptions options = command(std::move(arguments));
  options.working_directory = folder;
  return value_of(run_command(options));
}

// Tests in a folder that has the library.
class QuickLibraryTest : public ::testing::Test {
 protected:
  QuickLibraryTest() { write_quick_library(folder_.path()); }

  fs::path file(const std::string& name) const { return folder_.path() / name; }

  CommandResult run(std::vector<std::string> arguments) const {
    return run_in(folder_.path(), std::move(arguments));
  }

  // Writes the library with a function that allocates eight times, not once.
  void write_slower_code(const std::string& name = "quick.cpp") const {
    write(file(name), replaced(kSource, "  result.reserve(numbers.size());\n", ""));
  }

  TemporaryFolder folder_;
};

// Runs git in a repository; returns its output.
inline std::string git(const fs::path& folder, std::vector<std::string> words) {
  words.insert(words.begin(), {"git", "-C", folder.string(), "-c", "user.name=n", "-c",
                               "user.email=e", "-c", "commit.gpgsign=false"});
  SpawnOptions spawn;
  spawn.argv = std::move(words);
  auto ended = run_command(spawn);
  EXPECT_TRUE(ended && ended->exit_code == 0) << (ended ? ended->errors : "");
  return ended ? ended->output : "";
}

// Tests in a git repository of the library, with a file of limits.
class QuickRepositoryTest : public QuickLibraryTest {
 protected:
  static constexpr const char* kLimits = R"([[limit]]
keys = "."
hard = { instructions = "+0", allocs = "+0", alloc_bytes = "+0", peak_bytes = "+0" }
)";

  void SetUp() override {
    git(folder_.path(), {"init", "--quiet", "--initial-branch=main"});
    fs::create_directory(file("gate limits"));
    write(file("gate limits/all.toml"), kLimits);
    commit("the library");
  }

  // Commits all changes; returns the commit's name.
  std::string commit(const std::string& subject) {
    git(folder_.path(), {"add", "gate limits", "quick.h", "quick.cpp", "quick.toml"});
    git(folder_.path(), {"commit", "--quiet", "-m", subject});
    const std::string name = git(folder_.path(), {"rev-parse", "HEAD"});
    return name.substr(0, name.find('\n'));
  }

  std::string commit_slower_code() {
    write_slower_code();
    return commit("fewer lines");
  }
};

inline void write_script(const fs::path& script, const std::string& text) {
  write(script, "#!/usr/bin/env bash\n" + text);
  fs::permissions(script, fs::perms::owner_all);
}

}  // namespace instr::e2e
