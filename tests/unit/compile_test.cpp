// Real compilation, with every compiler on this machine, but without LibTorch.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

#include "core/base/measured_tree.h"
#include "core/compile/cache_files.h"
#include "core/compile/compiled_variant.h"
#include "core/compile/cpp/compile_cpp.h"
#include "core/compile/cpp/tracked_artefacts.h"
#include "tests/labels.h"
#include "tests/testing.h"
#include "worker/abi.h"

namespace instr::compile_test {
namespace {

using namespace testing;

const RunsUnder kThreadSanitizer("thread", "CompileTest.*");

Variant variant(const std::string& key, const std::string& setup, const std::string& stmt) {
  Variant result;
  result.key = key;
  result.where = {"a.toml", 3, 1};
  result.setups = {Text{setup, {"a.toml", 4, 10}}};
  result.stmt = Text{stmt, {"a.toml", 5, 9}};
  return result;
}

struct Outcome {
  std::map<std::string, CompiledVariant> compiled;
  std::map<std::string, std::string> failed;
};

class CompileTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto toolchain = find_toolchain(GetParam(), LibTorch{});
    if (!toolchain) GTEST_SKIP() << to_string(toolchain.error());
    options_.toolchain = *toolchain;
    options_.toolchain.link_flags.clear();
    options_.jobs = 2;
    options_.sources = folder_.path() / "sources";
    fs::copy(fixture("compile/sources"), options_.sources, fs::copy_options::recursive);
    fs::copy(fs::path(INSTR_SOURCE_DIR) / "worker/abi.h", options_.sources / "worker/abi.h");
  }

  Outcome compile_all(const std::vector<Variant>& variants) {
    Outcome outcome;
    auto cache = value_of(Cache::open(true));
    auto done = compile(variants, options_, cache,
                        [&](UnitResult result) {
                          for (auto& one : result.compiled) outcome.compiled[one.variant.key] = one;
                          for (auto& one : result.failed) {
                            const auto& failure = std::get<Failure>(one.outcome);
                            EXPECT_EQ(failure.kind, FailureKind::kCompileError);
                            outcome.failed[one.variant.key] = failure.message;
                          }
                        },
                        {});
    EXPECT_TRUE(done) << to_string(done.error());
    EXPECT_EQ(outcome.compiled.size() + outcome.failed.size(), variants.size());
    return outcome;
  }

  std::size_t units_in_cache() {
    std::size_t found = 0;
    for (const auto& entry : fs::directory_iterator(folder_.path() / "cache/artefacts")) {
      if (entry.path().filename().string().rfind("unit-", 0) == 0) ++found;
    }
    return found;
  }

  TemporaryFolder folder_;
  ScopedVariable cache_{"INSTR_BENCH_CACHE", folder_ / "cache"};
  CompileOptions options_;
};

// Runs a compiled snippet for two blocks of three iterations.
int blocks_left = 0;
void run(const CompiledVariant& compiled, const std::string& symbol) {
  void* unit = ::dlopen(compiled.unit.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(unit, nullptr) << ::dlerror();
  auto snippet = reinterpret_cast<instr_snippet>(::dlsym(unit, symbol.c_str()));
  ASSERT_NE(snippet, nullptr);
  blocks_left = 2;
  instr_context context{INSTR_ABI_VERSION, 1,
                        [](instr_context*) -> uint64_t { return blocks_left-- > 0 ? 3 : 0; },
                        nullptr, nullptr};
  snippet(&context);
  EXPECT_EQ(blocks_left, -1);
}

TEST_P(CompileTest, GivesCodeThatRuns) {
  int iterations = 0;
  std::string address = std::to_string(reinterpret_cast<std::uintptr_t>(&iterations));
  auto outcome = compile_all({variant("a", "int* p = (int*)" + address + ";", "++*p;")});
  ASSERT_EQ(outcome.compiled.count("a"), 1u);
  run(outcome.compiled["a"], outcome.compiled["a"].symbol);
  EXPECT_EQ(iterations, 6);
  run(outcome.compiled["a"], INSTR_EMPTY_SNIPPET);
  EXPECT_EQ(iterations, 6);
}

TEST_P(CompileTest, CompilesOnceAndThenOnlyNewCode) {
  std::vector<Variant> variants;
  for (int i = 0; i < 9; ++i) {
    variants.push_back(variant(std::to_string(i), "int a = " + std::to_string(i) + ";", "++a;"));
  }
  auto first = compile_all(variants);
  EXPECT_EQ(first.compiled.size(), 9u);
  EXPECT_EQ(units_in_cache(), 2u);
  auto second = compile_all({variants[3], variants[8]});
  EXPECT_EQ(units_in_cache(), 2u);
  EXPECT_EQ(second.compiled["8"].unit, first.compiled["8"].unit);
  for (auto& one : variants) one.stmt->where.line += 7;  // a line was put in above
  variants[4].stmt->code = "--a;";
  auto third = compile_all(variants);
  EXPECT_EQ(units_in_cache(), 3u);
  EXPECT_EQ(third.compiled["5"].unit, first.compiled["5"].unit);
  EXPECT_NE(third.compiled["4"].unit, first.compiled["4"].unit);
  options_.toolchain.flags.push_back("-DOTHER");
  compile_all(variants);
  EXPECT_EQ(units_in_cache(), 5u);
}

TEST_P(CompileTest, EachAloneOnRequest) {
  std::vector<Variant> variants;
  for (int i = 0; i < 3; ++i) {
    variants.push_back(variant(std::to_string(i), "int a = " + std::to_string(i) + ";", "++a;"));
  }
  auto shared = compile_all(variants);
  options_.each_alone = true;
  auto all = compile_all(variants);
  EXPECT_NE(all.compiled["0"].unit, all.compiled["1"].unit);
  EXPECT_NE(all.compiled["0"].unit, shared.compiled["0"].unit);
  auto one = compile_all({variants[1]});
  EXPECT_EQ(one.compiled["1"].unit, all.compiled["1"].unit);
  options_.each_alone = false;
  EXPECT_EQ(compile_all(variants).compiled["1"].unit, shared.compiled["1"].unit);
}

// A function that would be inlined if called only once is called twice.
TEST_P(CompileTest, CodeDoesNotDependOnTheRestOfTheUnit) {
  auto calls = [&](const std::string& key) {
    auto one = variant(key, "int a = " + key + ";", "a = often(a);");
    std::string body = "static int often(int a) {";
    for (int i = 0; i < 200; ++i)
      body += "asm volatile(\"nop\"); a ^= a << " + std::to_string(i % 7) + ";";
    one.global_setups = {Text{body + " return a; }", {}}};
    return one;
  };
  options_.jobs = 1;
  auto alone = compile_all({calls("1")});
  auto sizes = [](const CompiledVariant& compiled) {
    SpawnOptions ask;
    ask.argv = {"nm", "-S", compiled.unit.string()};
    auto said = run_command(ask);
    for (const std::string& line : split_lines(said ? said->output : "")) {
      if (line.ends_with(compiled.symbol)) return line.substr(17, 16);
    }
    return std::string("none");
  };
  std::string size = sizes(alone.compiled["1"]);
  EXPECT_NE(size, "none");
  options_.toolchain.flags.push_back("-DOTHER");
  auto together = compile_all({calls("1"), calls("2")});
  EXPECT_EQ(together.compiled["1"].unit, together.compiled["2"].unit);
  EXPECT_EQ(sizes(together.compiled["1"]), size);
}

TEST_P(CompileTest, AnErrorCostsOnlyItsVariant) {
  auto wrong = variant("wrong", "\nint a = 1;\n  int b = nowhere;", "++a;");
  auto twin = wrong;  // other code at the same place
  twin.key = "twin";
  twin.setups[0].code = "\nint a = 1;\n  int b = a;";
  auto outcome = compile_all({variant("good", "int a = 1;", "++a;"), wrong, twin});
  EXPECT_EQ(outcome.compiled.size(), 2u);
  const std::string& message = outcome.failed["wrong"];
  EXPECT_EQ(message.rfind("a.toml:6:11: error: ", 0), 0u) << message;
  EXPECT_HAS(message, "nowhere");
  EXPECT_HAS(message, "[in wrong]\n    int b = nowhere;\n            ^");
}

TEST_P(CompileTest, UnbalancedTextDoesNotAffectOthers) {
  auto outcome =
      compile_all({variant("a", "int a = 1;", "++a;"), variant("closes", "", "int b; }"),
                   variant("b", "int a = 2;", "++a;"), variant("opens", "if (1) {", "int b;"),
                   variant("comment", "/*", "int b;"), variant("string", "", "\"abc"),
                   variant("c", "int a = 3;", "++a; \\"), variant("d", "#if 0", ";")});
  EXPECT_EQ(outcome.compiled.size(), 3u);
  ASSERT_EQ(outcome.failed.size(), 5u);
  EXPECT_EQ(outcome.failed["closes"].rfind("a.toml:5:9: error: a bracket", 0), 0u)
      << outcome.failed["closes"];
  EXPECT_EQ(outcome.failed["opens"].rfind("a.toml:4:10: error: a bracket", 0), 0u)
      << outcome.failed["opens"];
}

TEST_P(CompileTest, AMacroDoesNotReachOthers) {
  auto outcome = compile_all({variant("a", "#define int long\n", "int b = 1;"),
                              variant("b", "static_assert(sizeof(int) == 4);", ";")});
  EXPECT_EQ(outcome.compiled.size(), 2u);
}

TEST_P(CompileTest, NorHoweverItIsSpelled) {
  const std::string holds = "static_assert(sizeof(int) == 4);";
  for (const char* text :
       {"%:define int long\n", "/**/ %:/**/define int long\n", "int a = 1; // \\ \n/*\n",
        "%\\\n:define int long\n", "1'R\"(\";\n#define int long\n\")\";"}) {
    auto outcome =
        compile_all({variant(std::string("a") + text, text, ";"), variant("b", holds, ";")});
    EXPECT_EQ(outcome.compiled.count("b"), 1u) << text;
  }
}

TEST_P(CompileTest, NorIsWhatAHeadersMacroDoes) {
  auto packs = variant("packs", "PACKS", ";");
  auto after = variant("after", "struct A { char c; int i; }; static_assert(sizeof(A) == 8);", ";");
  auto outcome = compile_all({packs, after, variant("counts", "int a = UNIQUE;", ";"),
                              variant("counts, too", "int b = UNIQUE;", ";")});
  EXPECT_EQ(outcome.compiled.size(), 4u);
  std::set<fs::path> units;
  for (const auto& [key, compiled] : outcome.compiled) units.insert(compiled.unit);
  EXPECT_EQ(units.size(), 4u);
  EXPECT_EQ(compile_all({variant("ends", "", "ENDS_SCOPES BEGINS_SCOPES"),
                         variant("c", "int c = 1;", "++c;")})
                .compiled.count("c"),
            1u);
}

TEST_P(CompileTest, NorADeclarationThatContradictsAnothers) {
  auto outcome = compile_all({variant("a", "extern int number;", "(void)sizeof number;"),
                              variant("b", "extern double number;", "(void)sizeof number;")});
  EXPECT_EQ(outcome.compiled.size(), 2u);
}

TEST_P(CompileTest, AStatementMayNotLeaveItsLoop) {
  const char* const kInLoops[] = {"for (;;) break;", "switch (1) { case 1: break; }",
                                  "for (int i = 0; i < 3; ++i) { if (i == 1) continue; }",
                                  "again: if (false) goto again;",
                                  "do { if (true) break; } while (true);"};
  for (const char* stmt : kInLoops) {
    EXPECT_EQ(compile_all({variant("a", "", stmt)}).compiled.size(), 1u) << stmt;
  }
  for (const char* stmt :
       {"break;", "continue;", "if (true) { break; }", "for (;;) {} continue;"}) {
    auto outcome = compile_all({variant("a", "", stmt), variant("b", "", "int b = 1;")});
    EXPECT_EQ(outcome.compiled.count("b"), 1u);
    EXPECT_HAS(outcome.failed["a"], "a.toml:5:");
    EXPECT_HAS(outcome.failed["a"], "outside a loop of the statement's own");
  }
  auto outcome = compile_all({variant("a", "again:;", "goto again;")});
  EXPECT_HAS(outcome.failed["a"], "goto leaves the statement");
}

TEST_P(CompileTest, AMissingFunctionIsFoundWhenLinking) {
  auto outcome = compile_all({variant("wrong", "int not_there(int);", "not_there(1);"),
                              variant("good", "int a = 1;", "++a;")});
  EXPECT_EQ(outcome.compiled.size(), 1u);
  EXPECT_EQ(outcome.failed["wrong"].rfind(
                "a.toml:3:1: does not link: undefined reference to `not_there", 0),
            0u)
      << outcome.failed["wrong"];
}

TEST_P(CompileTest, AGlobalSetupIsItsVariantsOwn) {
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

TEST_P(CompileTest, UsersSourcesAreCompiledOnceAndLinked) {
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

// The header may lie anywhere, and what was compiled before is found again.
TEST_P(CompileTest, AChangedHeaderOfTheUsersIsSeen) {
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
  folder_.write("include/results.jsonl", "{}\n");  // nothing includes it
  EXPECT_EQ(unit_with("1"), first_again);
  folder_.write("include/value.h", "#define VALUE 3\n");
  EXPECT_NE(unit_with("1"), first_again);
}

TEST_P(CompileTest, AChangedFileThatTheUsersSourcesIncludeIsSeen) {
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

// A commit is measured in a tree of its own: nothing may lead back to what is checked out.
TEST_P(CompileTest, NoFileOfTheCheckedOutTreeIsIncludedInAnother) {
  folder_.write("project/value.h", "#define VALUE 1\n");
  folder_.write("tree/value.h", "#define VALUE 1\n");
  ScopedVariable project(kProjectVariable, folder_ / "project");
  ScopedVariable tree(kTreeVariable, folder_ / "tree");
  auto one = variant("a", "", "int a = VALUE;");
  one.global_setups = {Text{"#include \"" + (folder_ / "tree").string() + "/value.h\"\n", {}}};
  EXPECT_EQ(compile_all({one}).compiled.size(), 1u);
  one.global_setups = {Text{"#include \"" + (folder_ / "project").string() + "/value.h\"\n", {}}};
  auto cache = Cache::open(true);
  ASSERT_TRUE(cache);
  const auto done = compile({one}, options_, *cache, [](const UnitResult&) {}, {});
  ASSERT_FALSE(done);
  EXPECT_HAS(done.error().what, "is in the checked-out tree");
  EXPECT_HAS(done.error().what, "value.h");
}

TEST(FilesInList, AreWhatTheTargetDependsOn) {
  EXPECT_EQ(parse_dependency_list("made: unit.cpp /a/my\\ value.h \\\n  /b/$$x.h \\\n /c\\#.h\n"),
            (std::vector<fs::path>{"unit.cpp", "/a/my value.h", "/b/$x.h", "/c#.h"}));
  EXPECT_TRUE(parse_dependency_list("").empty());
}

TEST_P(CompileTest, AFlagThatTheCompilerRefusesFailsItsVariants) {
  auto build = std::make_shared<BuildOptions>();
  build->flags = {"-march=no-such-machine"};
  build->where = {"a.toml", 20, 1};
  auto wrong = variant("wrong", "int a = 1;", "++a;");
  wrong.build = build;
  auto outcome = compile_all({wrong, variant("good", "int a = 1;", "++a;")});
  EXPECT_EQ(outcome.compiled.size(), 1u);
  EXPECT_HAS(outcome.failed["wrong"], "no-such-machine");
}

TEST_P(CompileTest, AnUnattributableErrorIsFoundByBisection) {
  // A compiler that dies silently on one snippet, as real ones do now and then.
  fs::path wrapper = folder_.path() / "wrapper";
  ASSERT_TRUE(
      write_text(wrapper,
                 "#!/bin/sh\nfor f; do case $f in */unit.cpp) grep -q poison $f && exit 139;; "
                 "esac; done\nexec " +
                     options_.toolchain.compiler.string() + " \"$@\"\n"));
  fs::permissions(wrapper, fs::perms::owner_all);
  options_.toolchain.compiler = wrapper;
  std::vector<Variant> variants;
  for (int i = 0; i < 5; ++i) {
    std::string name = std::to_string(i);
    variants.push_back(variant(name, "int a = " + name + ";", i == 3 ? "int poison = a;" : "++a;"));
  }
  auto outcome = compile_all(variants);
  EXPECT_EQ(outcome.compiled.size(), 4u);
  EXPECT_EQ(
      outcome.failed["3"].rfind("a.toml:3:1: does not compile [in 3]: the compiler ended with", 0),
      0u)
      << outcome.failed["3"];
}

TEST_P(CompileTest, AChangedSystemHeaderRebuildsThePrecompiledOne) {
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

TEST_P(CompileTest, AChangedHeaderOfLibTorchIsSeen) {
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
  SpawnOptions ask;
  ask.argv = {"objdump", "-d", "--no-show-raw-insn", object.string()};
  auto said = run_command(ask);
  std::string text = said ? said->output : "";
  return text.substr(std::min(text.find("Disassembly"), text.size()));  // without the file's name
}

// The flags that keep snippets independent, such as less inlining, do not affect the measured code.
TEST_P(CompileTest, TheUsersOwnSourcesAreCompiledAsTheirBuildWould) {
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
    if (entry.path().extension() == ".o") object = entry.path();
  }
  SpawnOptions by_hand;
  by_hand.argv = {options_.toolchain.compiler.string(),
                  options_.toolchain.flags[0],
                  "-O2",
                  "-fPIC",
                  "-c",
                  source.string(),
                  "-o",
                  (folder_.path() / "by_hand.o").string()};
  ASSERT_EQ(run_command(by_hand)->exit_code, 0);
  EXPECT_NE(code_of(object), "");
  EXPECT_EQ(code_of(object), code_of(folder_.path() / "by_hand.o"));
}

std::string dwarf_version_of(const fs::path& object) {
  SpawnOptions ask;
  ask.argv = {"readelf", "--debug-dump=info", object.string()};
  auto said = run_command(ask);
  for (const std::string& line : split_lines(said ? said->output : "")) {
    if (line.find("Version:") != std::string::npos) return line.substr(line.find_last_of(' ') + 1);
  }
  return "none";
}

// Not every Valgrind reads DWARF 5 as compilers write it.
TEST_P(CompileTest, DebugInformationIsReadableByValgrindUnlessAVersionIsGiven) {
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

// A compiler that is killed leaves its temporary files.
TEST_P(CompileTest, TheCompilersLeftoversAreRemovedWithTheRun) {
  fs::path compiler = folder_.path() / "compiler", temporary = folder_.path() / "tmp";
  fs::create_directory(temporary);
  ASSERT_TRUE(write_text(compiler, "#!/bin/sh\n: > \"${TMPDIR:-/tmp}/unit-left.o\"\nexec '" +
                                       options_.toolchain.compiler.string() + "' \"$@\"\n"));
  fs::permissions(compiler, fs::perms::owner_all);
  options_.toolchain.compiler = compiler;
  const ScopedVariable variable("TMPDIR", temporary);
  auto outcome = compile_all({variant("a", "int a = 1;", "++a;")});
  EXPECT_EQ(outcome.compiled.size(), 1u);
  EXPECT_TRUE(fs::is_empty(temporary));
  EXPECT_TRUE(fs::is_empty(folder_.path() / "cache/runs"));
}

TEST_P(CompileTest, StopsOnRequest) {
  std::stop_source stop;
  stop.request_stop();
  auto cache = Cache::open(true);
  bool any = false;
  auto done = compile(
      {variant("a", "int a = 1;", "++a;")}, options_, *cache, [&](UnitResult) { any = true; },
      stop.get_token());
  EXPECT_TRUE(done);
  EXPECT_FALSE(any);
}

TEST_P(CompileTest, BuildsAWorkerOnce) {
  fs::create_directory(options_.sources / "worker/counted");
  ASSERT_TRUE(write_text(
      options_.sources / "worker/counted/main.cpp",
      "#include \"worker/abi.h\"\nextern \"C\" int f();\nint g();\nint h();\n"
      "static int own() { return 4; }\nint main() { return f() - g() - h() - own(); }\n"));
  ASSERT_TRUE(write_text(options_.sources / "worker/other.cpp", "int g() { return 2; }\n"));
  // Counted, so apart from the others.
  ASSERT_TRUE(write_text(options_.sources / "worker/counted/run_snippet.cpp",
                         "static int own() { return 1; }\nint h() { return own(); }\n"));
  ASSERT_TRUE(
      write_text(options_.sources / "worker/counted/f.S",
                 ".globl f\nf: mov $7, %eax\nret\n.section .note.GNU-stack,\"\",@progbits\n"));
  auto cache = Cache::open(true);
  auto worker = build_worker(WorkerKind::kCounting, options_.sources, options_, *cache, {});
  ASSERT_TRUE(worker) << to_string(worker.error());
  EXPECT_EQ(worker->filename(), "worker");
  EXPECT_EQ(std::system(worker->c_str()), 0);
  EXPECT_EQ(std::distance(fs::directory_iterator(worker->parent_path()), {}), 2);  // and a link
  auto written = fs::last_write_time(*worker);
  EXPECT_EQ(
      build_worker(WorkerKind::kCounting, options_.sources, options_, *cache, {}).value_or(""),
      *worker);
  EXPECT_EQ(fs::last_write_time(*worker), written);
  ASSERT_TRUE(
      write_text(options_.sources / "worker/counted/main.cpp", "int main() { return nothing; }\n"));
  auto broken = build_worker(WorkerKind::kCounting, options_.sources, options_, *cache, {});
  ASSERT_FALSE(broken);
  EXPECT_HAS(broken.error().what, "nothing");
}

INSTANTIATE_TEST_SUITE_P(Compilers, CompileTest, ::testing::Values("clang++", "g++"),
                         [](const auto& of) {
                           return std::string(of.param)[0] == 'c' ? "clang" : "gcc";
                         });

}  // namespace
}  // namespace instr::compile_test
