// Inputs of compilation besides the variants: users' sources and flags, headers.
#include <algorithm>

#include "core/base/checkout_guard.h"
#include "core/compile/cache.h"
#include "core/compile/cpp/tracked_artefacts.h"
#include "tests/unit/compile_testing.h"

namespace instr::compile_inputs_test {
namespace {

using namespace testing;

class CompileInputsTest : public CompileTest {};

INSTANTIATE_WITH_COMPILERS(CompileInputsTest);

TEST_P(CompileInputsTest, AGlobalSetupAffectsOnlyItsVariant) {
  auto good = variant("good", "", "f();");
  good.global_setups = {Text{"#include <vector>\ninline int f() { return 1; }", {"a.toml", 8, 1}}};
  auto wrong = variant("wrong", "", "f();");
  wrong.global_setups = {Text{"inline int f() { return none; }", {"a.toml", 9, 2}}};
  auto missing = variant("missing", "", ";");
  missing.global_setups = {Text{"\n#include <not/there.h>", {"a.toml", 10, 1}}};

  auto outcome = compile_all({good, wrong, missing});
  EXPECT_EQ(outcome.compiled.count("good"), 1u);
  EXPECT_EQ(outcome.failed["wrong"].rfind("a.toml:9:26: error: ", 0), 0u)
      << outcome.failed["wrong"];
  EXPECT_EQ(outcome.failed["missing"].rfind("a.toml:11:10: error: ", 0), 0u)
      << outcome.failed["missing"];
}

TEST_P(CompileInputsTest, UsersSourcesAreCompiledOnceAndLinked) {
  fs::path source = folder_.path() / "mine.cpp";
  fs::create_directories(folder_.path() / "include");
  folder_.write("include/mine.h", "int __attribute__((visibility(\"default\"))) mine();\n");
  ASSERT_TRUE(write_text(source, "#include \"mine.h\"\nint mine() { return VALUE; }\n"));
  auto build = std::make_shared<BuildOptions>();
  build->include_dirs = {folder_.path() / "include"};
  build->sources = {source};
  build->defines = {{"VALUE", "42"}};
  build->where = {"a.toml", 20, 1};
  int value = 0;
  std::string address = std::to_string(reinterpret_cast<std::uintptr_t>(&value));
  auto one = variant("a", "int* p = (int*)" + address + ";", "*p = mine();");
  one.global_setups = {Text{"#include \"mine.h\"\n", {}}};
  one.build = build;
  auto outcome = compile_all({one});
  ASSERT_EQ(outcome.compiled.count("a"), 1u) << outcome.failed["a"];
  run(outcome.compiled["a"], outcome.compiled["a"].symbol);
  EXPECT_EQ(value, 42);

  ASSERT_TRUE(write_text(source, "#include \"mine.h\"\nint mine() { return wrong; }\n"));
  outcome = compile_all({one, variant("b", "int a = 1;", "++a;")});
  EXPECT_EQ(outcome.compiled.size(), 1u);
  EXPECT_EQ(outcome.failed["a"].rfind("a.toml:20:1: the user's own code", 0), 0u)
      << outcome.failed["a"];
  EXPECT_HAS(outcome.failed["a"], "mine.cpp:2:21: error: ");
}

// The header may be in any folder, and earlier units are found again.
TEST_P(CompileInputsTest, AChangedHeaderOfTheUserIsDetected) {
  folder_.write("include/value.h", "#include \"../elsewhere/my value.h\"\n");
  auto build = std::make_shared<BuildOptions>();
  build->include_dirs = {folder_.path() / "include"};
  auto one = variant("a", "", "int a = VALUE;");
  one.global_setups = {Text{"#include \"value.h\"\n", {}}};
  one.build = build;
  const auto unit_with = [&](const std::string& value) {
    folder_.write("elsewhere/my value.h", "#define VALUE " + value + "\n");
    return compile_all({one}).compiled["a"].unit;
  };
  const fs::path first = unit_with("1");
  const fs::path second = unit_with("2");
  EXPECT_NE(first, second);
  const fs::path first_again = unit_with("1");
  EXPECT_EQ(unit_with("2"), second);
  EXPECT_EQ(unit_with("1"), first_again);
  EXPECT_LE(units_in_cache(), 3u);
  folder_.write("include/results.jsonl", "{}\n");  // never included
  EXPECT_EQ(unit_with("1"), first_again);
  folder_.write("include/value.h", "#define VALUE 3\n");
  EXPECT_NE(unit_with("1"), first_again);
}

TEST_P(CompileInputsTest, AChangedFileThatUsersSourcesIncludeIsDetected) {
  auto build = std::make_shared<BuildOptions>();
  build->sources = {folder_.path() / "mine.cpp"};
  build->include_dirs = {folder_.path()};
  folder_.write("mine.h", "int mine();\n");
  folder_.write("mine.cpp", "#include \"detail/mine.inc\"\n");
  auto one = variant("a", "", "mine();");
  one.global_setups = {Text{"#include \"mine.h\"\n", {}}};
  one.build = build;
  const auto unit_with = [&](const std::string& value) {
    folder_.write("detail/mine.inc", "int mine() { return " + value + "; }\n");
    auto outcome = compile_all({one});
    EXPECT_EQ(outcome.compiled.size(), 1u) << outcome.failed["a"];
    return outcome.compiled["a"].unit;
  };
  const fs::path first = unit_with("1");
  EXPECT_EQ(unit_with("1"), first);
  EXPECT_NE(unit_with("2"), first);
}

// A commit is measured in a separate tree, which must not include files of the checked-out tree.
TEST_P(CompileInputsTest, NoFileOfTheCheckedOutTreeIsIncludedInAnother) {
  folder_.write("project/value.h", "#define VALUE 1\n");
  folder_.write("tree/value.h", "#define VALUE 1\n");
  ScopedVariable project(kProjectVariable, folder_ / "project");
  ScopedVariable tree(kTreeVariable, folder_ / "tree");
  auto one = variant("a", "", "int a = VALUE;");
  one.global_setups = {Text{"#include \"" + (folder_ / "tree").string() + "/value.h\"\n", {}}};
  EXPECT_EQ(compile_all({one}).compiled.size(), 1u);
  one.global_setups = {Text{"#include \"" + (folder_ / "project").string() + "/value.h\"\n", {}}};
  auto cache = value_of(Cache::open(true));
  const auto done = compile({one}, options_, cache, [](const UnitResult&) {}, {});
  ASSERT_FALSE(done);
  EXPECT_HAS(done.error().what, "is in the checked-out tree");
  EXPECT_HAS(done.error().what, "value.h");
}

TEST(ParseDependencyList, ReturnsTheFilesThatTheTargetDependsOn) {
  EXPECT_EQ(parse_dependency_list("made: unit.cpp /a/my\\ value.h \\\n  /b/$$x.h \\\n /c\\#.h\n"),
            (std::vector<fs::path>{"unit.cpp", "/a/my value.h", "/b/$x.h", "/c#.h"}));
  EXPECT_TRUE(parse_dependency_list("").empty());
}

TEST_P(CompileInputsTest, AFlagThatTheCompilerRefusesFailsItsVariants) {
  auto build = std::make_shared<BuildOptions>();
  build->flags = {"-march=no-such-machine"};
  build->where = {"a.toml", 20, 1};
  auto wrong = variant("wrong", "int a = 1;", "++a;");
  wrong.build = build;
  auto outcome = compile_all({wrong, variant("good", "int a = 1;", "++a;")});
  EXPECT_EQ(outcome.compiled.size(), 1u);
  EXPECT_HAS(outcome.failed["wrong"], "no-such-machine");
}

TEST_P(CompileInputsTest, AChangedSystemHeaderRebuildsThePrecompiledOne) {
  fs::create_directories(folder_.path() / "system");
  options_.toolchain.flags.insert(options_.toolchain.flags.end(),
                                  {"-isystem", (folder_.path() / "system").string()});
  for (const char* value : {"1", "2", "3"}) {
    folder_.write("system/system.h", std::string("#pragma once\n// a change of size ") + value +
                                         value + value + std::string(10 * (value[0] - '0'), '.') +
                                         "\n");
    auto outcome = compile_all({variant(value, "int a = 0;", std::string("a += ") + value + ";")});
    EXPECT_EQ(outcome.compiled.size(), 1u) << outcome.failed[value];
  }
}

TEST_P(CompileInputsTest, AChangedHeaderOfLibTorchIsDetected) {
  fs::create_directories(folder_.path() / "libtorch/include/torch");
  options_.libtorch.include_dirs = {folder_.path() / "libtorch/include",
                                    folder_.path() / "libtorch/include/torch/csrc/api/include"};
  auto one = variant("a", "int a = 0;", "++a;");
  folder_.write("libtorch/include/torch/torch.h", "int a;\n");
  auto first = compile_all({one});
  EXPECT_EQ(compile_all({one}).compiled["a"].unit, first.compiled["a"].unit);
  folder_.write("libtorch/include/torch/torch.h", "int a, b;\n");
  EXPECT_NE(compile_all({one}).compiled["a"].unit, first.compiled["a"].unit);
}

std::string code_of(const fs::path& object) {
  const std::string text = program_output({"objdump", "-d", "--no-show-raw-insn", object.string()});
  return text.substr(std::min(text.find("Disassembly"), text.size()));  // without the file's name
}

// The flags that keep snippets independent, such as less inlining, do not affect the measured code.
TEST_P(CompileInputsTest, TheUsersOwnSourcesAreCompiledAsTheirBuildWould) {
  fs::path source = folder_.path() / "own.cpp";
  std::string body;
  for (int i = 0; i < 40; ++i) body += "a ^= a << " + std::to_string(1 + i % 7) + "; ";
  ASSERT_TRUE(write_text(source, "static int once(int a) { " + body +
                                     "return a; }\n"
                                     "int own(int a) { return once(a + 1) + 2; }\n"));
  auto build = std::make_shared<BuildOptions>();
  build->sources = {source};
  auto one = variant("a", "int a = 1;", "a = own(a);");
  folder_.write("own.h", "int own(int);\n");
  build->include_dirs = {folder_.path()};
  one.global_setups = {Text{"#include \"own.h\"\n", {}}};
  one.build = build;
  auto outcome = compile_all({one});
  ASSERT_EQ(outcome.compiled.size(), 1u) << outcome.failed["a"];
  fs::path object;
  for (const auto& entry : fs::recursive_directory_iterator(folder_.path() / "cache/artefacts")) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("object-") && name.ends_with(".o")) object = entry.path();
  }
  program_output({options_.toolchain.compiler.string(), options_.toolchain.flags[0], "-O2", "-fPIC",
                  "-c", source.string(), "-o", (folder_.path() / "by_hand.o").string()});
  EXPECT_NE(code_of(object), "");
  EXPECT_EQ(code_of(object), code_of(folder_.path() / "by_hand.o"));
}

std::string dwarf_version_of(const fs::path& object) {
  const std::string info = program_output({"readelf", "--debug-dump=info", object.string()});
  for (const std::string& line : split_lines(info)) {
    if (line.find("Version:") != std::string::npos) return line.substr(line.find_last_of(' ') + 1);
  }
  return "none";
}

// Some versions of Valgrind cannot read DWARF 5.
TEST_P(CompileInputsTest, DebugInformationIsReadableByValgrindUnlessAVersionIsGiven) {
  for (const auto& [flag, version] : {std::pair{"-g", "4"}, {"-gdwarf-5", "5"}, {"-DX", "none"}}) {
    auto one = variant("a", "int a = 1;", "++a;");
    auto build = std::make_shared<BuildOptions>();
    build->flags = {flag};
    one.build = build;
    auto outcome = compile_all({one});
    ASSERT_EQ(outcome.compiled.size(), 1u) << outcome.failed["a"];
    EXPECT_EQ(dwarf_version_of(outcome.compiled["a"].unit), version) << flag;
  }
}

}  // namespace
}  // namespace instr::compile_inputs_test
