#include <cstdlib>
#include <set>

#include "core/compile/cache.h"
#include "tests/labels.h"
#include "tests/unit/compile_testing.h"

namespace instr::compile_test {
namespace {

using namespace testing;

const RunsUnder kThreadSanitizer("thread", "Compilers/CompileTest.*");

INSTANTIATE_WITH_COMPILERS(CompileTest);

TEST_P(CompileTest, TheCodeRuns) {
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
  for (auto& one : variants) one.stmt->where.line += 7;  // a line was added above
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
  EXPECT_EQ(compile_all({variants[1]}).compiled["1"].unit, all.compiled["1"].unit);
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
    const std::string symbols = program_output({"nm", "-S", compiled.unit.string()});
    for (const std::string& line : split_lines(symbols)) {
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

TEST_P(CompileTest, AMacroDoesNotReachOthersHoweverItIsSpelled) {
  const std::string holds = "static_assert(sizeof(int) == 4);";
  for (const char* text :
       {"%:define int long\n", "/**/ %:/**/define int long\n", "int a = 1; // \\ \n/*\n",
        "%\\\n:define int long\n", "1'R\"(\";\n#define int long\n\")\";"}) {
    auto outcome =
        compile_all({variant(std::string("a") + text, text, ";"), variant("b", holds, ";")});
    EXPECT_EQ(outcome.compiled.count("b"), 1u) << text;
  }
}

TEST_P(CompileTest, AMacroOfAHeaderDoesNotReachOthers) {
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

TEST_P(CompileTest, ContradictingDeclarationsDoNotReachOthers) {
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

TEST_P(CompileTest, AnUnattributableErrorIsFoundByBisection) {
  // A compiler that crashes without a message on one snippet, as real compilers sometimes do.
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
  // Counted, so compiled separately.
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
  EXPECT_EQ(std::distance(fs::directory_iterator(worker->parent_path()), {}),
            2);  // the worker and a link
  auto written = fs::last_write_time(*worker);
  EXPECT_EQ(
      build_worker(WorkerKind::kCounting, options_.sources, options_, *cache, {}).value_or(""),
      *worker);
  EXPECT_EQ(fs::last_write_time(*worker), written);
  ASSERT_TRUE(
      write_text(options_.sources / "worker/counted/main.cpp", "int main() { return nothing; }\n"));
  EXPECT_HAS(
      error_text(build_worker(WorkerKind::kCounting, options_.sources, options_, *cache, {})),
      "nothing");
}

}  // namespace
}  // namespace instr::compile_test
