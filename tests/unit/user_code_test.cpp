// The user's own sources: which compilations and links a change costs, and in which working tree.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "core/compile/cache.h"
#include "core/compile/cpp/diagnostics.h"
#include "tests/unit/compile_testing.h"

namespace instr::user_code_test {
namespace {

using namespace testing;

class UserCodeTest : public CompileTest {
 protected:
  void SetUp() override {
    CompileTest::SetUp();
    if (IsSkipped()) return;
    options_.toolchain.compiler = script("", options_.toolchain.compiler);
  }

  // A compiler that notes its calls, and runs `first` before each, with the source's name in $file.
  fs::path script(const std::string& first, const fs::path& compiler) {
    const fs::path wrapper = folder_.path() / "wrapper";
    std::ofstream(wrapper) << "#!/bin/sh\nkind=link; file=\n"
                              "for word; do case $word in -c) kind=compile;; -E) kind=expand;; "
                              "c++-header) kind=header;; "
                              "*.cpp) file=$word;; esac; done\n"
                           << first << "\necho $kind ${file##*/} >>" << log() << "\nexec "
                           << compiler << " \"$@\"\n";
    fs::permissions(wrapper, fs::perms::owner_all);
    return wrapper;
  }

  fs::path log() const { return folder_.path() / "log"; }

  // Compiles, and returns the compiler's calls, sorted.
  std::vector<std::string> calls(const std::vector<Variant>& variants) {
    fs::remove(log());
    outcome_ = compile_all(variants);
    auto lines = split_lines(text_of(log()));
    std::erase(lines, "header");  // g++ precompiles one at the second request
    std::ranges::sort(lines);
    return lines;
  }

  std::shared_ptr<BuildOptions> build_in(const std::string& folder) const {
    auto build = std::make_shared<BuildOptions>();
    build->root = folder_.path() / folder;
    build->sources = {build->root / "mine.cpp", build->root / "other.cpp"};
    build->include_dirs = {build->root};
    build->where = {"a.toml", 20, 1};
    return build;
  }

  void write_sources(const std::string& folder) {
    folder_.write(folder + "/mine.h", "int mine();\nint also();\nconst char* place();\n");
    folder_.write(folder + "/mine.cpp",
                  "#include \"mine.h\"\nint mine() { return 1; }\nint also() { return 5; }\n");
    folder_.write(folder + "/other.cpp",
                  "#include \"mine.h\"\nconst char* place() { return __FILE__; }\n");
  }

  // A variant that writes the value of an expression to value_.
  Variant asks(const std::string& key, const std::string& expression,
               std::shared_ptr<const BuildOptions> build) {
    const std::string address = std::to_string(reinterpret_cast<std::uintptr_t>(&value_));
    auto one = variant(key, "auto* p = (long*)" + address + ";", "*p = (long)" + expression + ";");
    one.global_setups = {Text{"#include \"mine.h\"\n", {}}};
    one.build = std::move(build);
    return one;
  }

  // Runs it in another process, as units of several versions of the library are loaded.
  int value_of_variant(const std::string& key) {
    const pid_t child = ::fork();
    if (child == 0) {
      run(outcome_.compiled[key], outcome_.compiled[key].symbol);
      ::_exit(static_cast<int>(value_));
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  long value_ = 0;
  CompileOutcome outcome_;
};

INSTANTIATE_WITH_COMPILERS(UserCodeTest);

using Calls = std::vector<std::string>;

TEST_P(UserCodeTest, AChangeOfASourceCostsItsCompilationAndALink) {
  write_sources("tree");
  const auto build = build_in("tree");
  const std::vector<Variant> variants{asks("mine", "mine()", build), asks("also", "also()", build),
                                      asks("sum", "mine() + also()", build)};
  calls(variants);
  EXPECT_EQ(outcome_.compiled.size(), 3u);
  EXPECT_EQ(calls(variants), Calls{});
  EXPECT_EQ(value_of_variant("sum"), 6);
  folder_.write("tree/mine.cpp",
                "#include \"mine.h\"\nint mine() { return 2; }\nint also() { return 5; }\n");
  EXPECT_EQ(calls(variants), (Calls{"compile mine.cpp", "link"}));
  EXPECT_EQ(value_of_variant("sum"), 7);
  EXPECT_EQ(value_of_variant("mine"), 2);
  folder_.write("tree/mine.h",
                "inline int more() { return 0; }\n" + text_of(folder_ / "tree/mine.h"));
  EXPECT_EQ(std::ranges::count(calls(variants), "compile unit.cpp"), 2);
}

// Units are linked again if the library has other functions, so that a missing one is reported for
// the snippets that call it.
TEST_P(UserCodeTest, AFunctionThatIsGoneIsReported) {
  write_sources("tree");
  const auto build = build_in("tree");
  const std::vector<Variant> variants{asks("mine", "mine()", build), asks("also", "also()", build)};
  options_.jobs = 1;
  calls(variants);
  folder_.write("tree/mine.cpp", "#include \"mine.h\"\nint mine() { return 3; }\n");
  calls(variants);
  EXPECT_EQ(outcome_.compiled.size(), 1u);
  EXPECT_EQ(value_of_variant("mine"), 3);
  EXPECT_HAS(outcome_.failed["also"], "does not link: undefined reference to `also()'");
}

// The base of a comparison is in another folder each time.
TEST_P(UserCodeTest, NothingIsCompiledAgainInAnotherWorkingTree) {
  for (const char* tree : {"head", "base in another folder"}) write_sources(tree);
  const auto head = build_in("head");
  const auto base = build_in("base in another folder");
  const std::string place = "__builtin_strcmp(place(), \"./other.cpp\")";
  calls({asks("a", place, head)});
  EXPECT_EQ(value_of_variant("a"), 0);
  EXPECT_EQ(calls({asks("a", place, base)}), (Calls{"link", "link"}));
  EXPECT_EQ(value_of_variant("a"), 0);
  folder_.write("base in another folder/mine.cpp",
                "#include \"mine.h\"\nint mine() { return 2; }\nint also() { return 1; }\n");
  EXPECT_EQ(calls({asks("b", "mine()", base)}),
            (Calls{"compile mine.cpp", "compile unit.cpp", "link", "link"}));
  EXPECT_EQ(value_of_variant("b"), 2);
  EXPECT_EQ(calls({asks("b", "mine()", head)}), Calls{"link"});
  EXPECT_EQ(value_of_variant("b"), 1);
  folder_.write("head/mine.h", "#define CHANGED\n" + text_of(folder_ / "head/mine.h"));
  EXPECT_EQ(std::ranges::count(calls({asks("b", "mine()", head)}), "compile unit.cpp"), 1);
}

TEST_P(UserCodeTest, LinesAreThoseOfTheirOwnWorkingTree) {
  options_.line_numbers = true;
  for (const char* tree : {"head", "base"}) write_sources(tree);
  calls({asks("a", "mine()", build_in("head"))});
  const auto again = calls({asks("a", "mine()", build_in("base"))});
  EXPECT_EQ(std::ranges::count(again, "compile mine.cpp"), 1);
  EXPECT_EQ(std::ranges::count(again, "compile unit.cpp"), 1);
}

TEST_P(UserCodeTest, FlagsReachTheLinker) {
  if (std::string(GetParam()) != "g++") GTEST_SKIP() << "clang's OpenMP may not be installed";
  write_sources("tree");
  folder_.write("tree/mine.cpp",
                "#include \"mine.h\"\nint mine() {\n  int threads = 0;\n"
                "#pragma omp parallel num_threads(2) reduction(+ : threads)\n"
                "  threads += 1;\n  return threads;\n}\nint also() { return 0; }\n");
  auto build = build_in("tree");
  build->flags = {"-fopenmp"};
  calls({asks("a", "mine()", build)});
  ASSERT_EQ(outcome_.compiled.size(), 1u) << outcome_.failed["a"];
  EXPECT_EQ(value_of_variant("a"), 2);
}

TEST_P(UserCodeTest, SaysHowToDeclareAGlobalName) {
  auto one = variant("a", "", "volatile char c = *environ[0]; (void)c;");
  one.global_setups = {Text{"extern char** environ;", {"a.toml", 8, 1}}};
  calls({one});
  EXPECT_HAS(outcome_.failed["a"], "does not link: undefined reference to `environ'");
  EXPECT_HAS(outcome_.failed["a"], "declare it extern \"C\" there");
  one.global_setups[0].code = "extern \"C\" char** environ;";
  calls({one});
  EXPECT_EQ(outcome_.compiled.size(), 1u) << outcome_.failed["a"];
}

TEST_P(UserCodeTest, SaysThatTheSystemKilledTheCompiler) {
  auto toolchain = value_of(find_toolchain(GetParam(), LibTorch{}));
  options_.toolchain.compiler =
      script("[ -n \"$file\" ] && grep -q poison \"$file\" && kill -KILL $$", toolchain.compiler);
  calls({variant("killed", "int poison = 1;", ";"), variant("good", "", ";")});
  EXPECT_EQ(outcome_.compiled.size(), 1u);
  EXPECT_HAS(outcome_.failed["killed"], "the system killed the compiler (SIGKILL)");
  EXPECT_HAS(outcome_.failed["killed"], "--jobs=1");
}

// Compiled for the other string layout, by a #define of the source.
TEST_P(UserCodeTest, NamesTheStringLayoutOfASource) {
  folder_.write("tree/mine.h", "#include <string>\nint size_of(const std::string& text);\n");
  folder_.write("tree/mine.cpp",
                "#define _GLIBCXX_USE_CXX11_ABI 0\n#include \"mine.h\"\n"
                "int size_of(const std::string& text) { return (int)text.size(); }\n");
  auto build = build_in("tree");
  build->sources = {build->root / "mine.cpp"};
  calls({asks("a", "size_of(\"abc\")", build)});
  EXPECT_HAS(outcome_.failed["a"],
             "the `sources` of [build] are compiled with _GLIBCXX_USE_CXX11_ABI=0, but LibTorch "
             "and so the snippets with 1: remove the flag");
}

}  // namespace
}  // namespace instr::user_code_test
