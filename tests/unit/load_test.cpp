#include "core/definitions/load.h"

#include "tests/golden.h"
#include "tests/testing.h"

namespace instr::load_test {
namespace {

using namespace testing;

std::vector<std::string> labels(const std::vector<Snippet>& snippets) {
  std::vector<std::string> result;
  for (const Snippet& snippet : snippets) result.push_back(snippet.label);
  return result;
}

std::vector<std::string> labels(const std::vector<GroupedBenchmark>& benchmarks) {
  return labels(snippets_of(benchmarks));
}

std::string plain(const std::string& label) {
  return "schema = 1\n[[benchmark]]\nlabel = \"" + label + "\"\nstmt = \"x;\"\n";
}

// GoogleTest takes paths for lists of paths, and cannot print them.
std::vector<std::string> strings(const std::vector<fs::path>& paths) {
  return {paths.begin(), paths.end()};
}

// --- Keys ---

TEST(Load, AMisspelledStatementIsOneError) {
  const TemporaryFolder folder;
  folder.write("d.toml",
               "schema = 1\n[[benchmark]]\nlabel = \"x\"\nstmnt = \"torch::ones({2});\"\n");
  const auto loaded = load_definitions({folder / "d.toml"});
  ASSERT_FALSE(loaded);
  ASSERT_EQ(loaded.error().size(), 1u);
  EXPECT_EQ(loaded.error()[0].what, "unknown key `stmnt` in [[benchmark]]");
}

constexpr const char* kEveryKey = R"(schema = 1
global_setup = "#include <vector>"
[setups.one]
cpp = "auto x = 1;"
[setups.two]
cpp = """
auto w = 2;
"""
[[benchmark]]
label = "all"
description = "everything"
use = ["two", "one"]
setup = "auto b = 3;"
stmt = '''
auto y = x + w;'''
torchscript = "y = x + w"
signature = "f(x, w) -> y"
autograd = true
reduce = "mean"
threads = [1, 2]
device = ["cpu", "cuda"]
libtorch = ">=2.0"
python = "timm>=1.0"
limit = { instructions = "0.5%", allocs = "+0" }
tags = ["slow", "math"]
warmup = 3
iterations = 4
timeout = 1.5
timed = true
[benchmark.matrix]
n = [4, 64]
a = [1.0, 0.25, 1e30, true, "torch::kFloat"]
)";

TEST(Load, ReadsEveryTextOfABenchmark) {
  const TemporaryFolder folder;
  const fs::path file = folder.write("a.toml", kEveryKey);
  const auto definitions = value_of(load_definitions({file})).benchmarks;
  const auto snippets = snippets_of(definitions);
  ASSERT_EQ(snippets.size(), 1u);
  const Snippet& all = snippets.front();
  const auto at = [&](int line, int column) { return SourceLocation{file.string(), line, column}; };
  EXPECT_EQ(all.label, "all");
  EXPECT_EQ(all.description, "everything");
  EXPECT_EQ(all.where, at(9, 1));
  EXPECT_EQ(all.global_setups.front().code, "#include <vector>");
  EXPECT_EQ(all.global_setups.front().where, at(2, 17));
  ASSERT_EQ(all.setups.size(), 3u);
  EXPECT_EQ(all.setups[0].code, "auto w = 2;\n");
  EXPECT_EQ(all.setups[0].where, at(7, 1));
  EXPECT_EQ(all.setups[1].code, "auto x = 1;");
  EXPECT_EQ(all.setups[1].where, at(4, 8));
  EXPECT_EQ(all.setups[2].code, "auto b = 3;");
  EXPECT_EQ(all.stmt->code, "auto y = x + w;");
  EXPECT_EQ(all.stmt->where, at(15, 1));
  EXPECT_EQ(all.torchscript->code, "y = x + w");
  EXPECT_EQ(all.torchscript->where, at(16, 16));
  EXPECT_EQ(all.signature->arguments, (std::vector<std::string>{"x", "w"}));
  EXPECT_EQ(all.signature->output, "y");
}

TEST(Load, ReadsEveryOptionOfABenchmark) {
  const GroupedBenchmark all = definitions_of(kEveryKey).at(0);
  EXPECT_TRUE(all.autograd);
  EXPECT_EQ(all.reduce, "mean");
  EXPECT_FALSE(all.is_explicit);
  EXPECT_EQ(all.threads, (std::vector<int>{1, 2}));
  EXPECT_EQ(all.devices, (std::vector<std::string>{"cpu", "cuda"}));
  EXPECT_EQ(all.libtorch, ">=2.0");
  EXPECT_EQ(all.packages, std::vector<std::string>{"timm>=1.0"});
  EXPECT_EQ(all.limits,
            (std::map<std::string, std::string>{{"instructions", "0.5%"}, {"allocs", "+0"}}));
  EXPECT_EQ(all.tags, (std::vector<std::string>{"slow", "math"}));
  EXPECT_EQ(all.warmup, 3);
  EXPECT_EQ(all.iterations, 4);
  EXPECT_EQ(all.timeout, 1.5);
  EXPECT_TRUE(all.is_only_timed);
  EXPECT_EQ(all.build, nullptr);
  ASSERT_EQ(all.matrix.size(), 2u);
  EXPECT_EQ(all.matrix[0].first, "n");  // as written, not sorted
  EXPECT_EQ(all.matrix[0].second, (std::vector<std::string>{"4", "64"}));
  EXPECT_EQ(all.matrix[1].second,
            (std::vector<std::string>{"1.0", "0.25", "1e+30", "true", "torch::kFloat"}));
}

TEST(Load, TracesAModuleInCppIndependentlyOfPython) {
  const std::string module =
      "schema = 1\n[[benchmark]]\nlabel = \"x\"\nmodule = \"M()\"\n"
      "signature = \"f(x) -> y\"\ntorchscript = true\n";
  const auto scripts = [&](const std::string& more) {
    std::vector<std::string> texts;
    for (const Snippet& one : snippets_of(definitions_of(module + more))) {
      texts.push_back(one.torchscript ? "<" + one.torchscript->code + ">" : "none");
    }
    return texts;
  };
  EXPECT_EQ(scripts(""), (std::vector<std::string>{"<>"}));
  EXPECT_EQ(scripts("py_module = \"P()\"\n"), (std::vector<std::string>{"<>", "<P()>"}));
  // TorchScript can read the Python statement.
  EXPECT_EQ(scripts("py_stmt = \"y = x\"\n"), (std::vector<std::string>{"<y = x>", "<y = x>"}));
  // A statement may do more than call the module.
  EXPECT_EQ(scripts("stmt = \"x;\"\npy_module = \"P()\"\n"),
            (std::vector<std::string>{"none", "<P()>"}));
}

TEST(Load, ReplacesPathsOfFilesBeside) {
  const TemporaryFolder folder;
  const auto file = folder.write("mine/x.toml", R"(schema = 1
[[benchmark]]
label = "x"
setup = 'auto m = load("{./model-{n}.pt}"), o = load("{./../other.pt}"); f({./2, {n}, {'
stmt = "x;"
matrix = { n = [4] }
)");
  const auto definitions = value_of(load_definitions({file})).benchmarks;
  const std::string here = folder.path().string();
  // Without a closing brace, the text is not a path.
  EXPECT_EQ(expand(definitions)->front().setups[0].code, "auto m = load(\"" + here +
                                                             "/mine/model-4.pt\"), o = load(\"" +
                                                             here + "/other.pt\"); f({./2, 4, {");
}

TEST(Load, AcceptsAValueInsteadOfAList) {
  const GroupedBenchmark one = definitions_of(R"(schema = 1
setups.x.cpp = "int x;"
[[benchmark]]
label = "x"
use = "x"
stmt = "x;"
threads = 2
device = "cuda"
tags = "slow"
timeout = 60
matrix = { n = 4 }
)")
                                   .at(0);
  EXPECT_EQ(one.in(Language::kCpp).setups.size(), 1u);
  EXPECT_EQ(one.threads, std::vector<int>{2});
  EXPECT_EQ(one.devices, std::vector<std::string>{"cuda"});
  EXPECT_EQ(one.tags, std::vector<std::string>{"slow"});
  EXPECT_EQ(one.timeout, 60);
  EXPECT_EQ(one.matrix[0].second, std::vector<std::string>{"4"});
}

TEST(Load, MakesABenchmarkOfEachOfManyStatements) {
  const auto definitions = snippets_of(definitions_of(R"(schema = 1
[[benchmark]]
label = "math"
setup = "int x;"
[benchmark.stmts]
sub = ["x -= 1;", '''
x - 1;''']
eq = "x == 1;"
add = ["x + 1;"]
)"));
  EXPECT_EQ(labels(definitions),
            (std::vector<std::string>{"math/sub/0", "math/sub/1", "math/eq", "math/add/0"}));
  EXPECT_EQ(definitions[1].stmt->code, "x - 1;");
  EXPECT_EQ(definitions[1].stmt->where.line, 7);
  EXPECT_EQ(definitions[1].stmt->where.column, 1);
  EXPECT_EQ(definitions[3].setups.size(), 1u);
}

TEST(Load, MakesABenchmarkOfEachOfManyModules) {
  const auto definitions = snippets_of(definitions_of(R"toml(schema = 1
[[benchmark]]
label = "nn"
signature = "f(x) -> y"
torchscript = true
[benchmark.modules]
b = "B()"
a = "-"
[benchmark.py_modules]
a = "A()"
b = "B({n})"
)toml"));
  ASSERT_EQ(labels(definitions), (std::vector<std::string>{"nn/b", "nn/b", "nn/a"}));
  EXPECT_EQ(definitions[0].language, Language::kCpp);
  EXPECT_EQ(definitions[0].module->code, "B()");
  EXPECT_EQ(definitions[0].torchscript->code, "");  // traced
  EXPECT_EQ(definitions[1].language, Language::kPython);
  EXPECT_EQ(definitions[1].module->code, "B({n})");
  EXPECT_EQ(definitions[1].module->where.line, 11);
  EXPECT_EQ(definitions[1].torchscript->code, "B({n})");
  EXPECT_FALSE(definitions[1].stmt);
  EXPECT_EQ(definitions[2].module->code, "A()");
}

TEST(Load, GivesTheStatementToEachOfManyModules) {
  const auto definitions = snippets_of(definitions_of(R"toml(schema = 1
[[benchmark]]
label = "nn"
stmt = "instr_module->zero_grad();"
[benchmark.modules]
a = "A()"
b = "B()"
)toml"));
  ASSERT_EQ(labels(definitions), (std::vector<std::string>{"nn/a", "nn/b"}));
  for (const Snippet& one : definitions) EXPECT_EQ(one.stmt->code, "instr_module->zero_grad();");
}

TEST(Load, ReadsTheBuildTable) {
  const TemporaryFolder folder;
  folder.write("ops/my.cpp", "");
  const fs::path file = folder.write("defs/a.toml", R"(schema = 1
[build]
include_dirs = ["../include", "/abs"]
sources = ["../ops/my.cpp"]
libraries = ["myops"]
library_dirs = ["lib"]
defines = { Z = "1", A = 2 }
flags = ["-O3", "-g"]
[[benchmark]]
label = "x"
stmt = "x;"
[[benchmark]]
label = "y"
stmt = "y;"
)");
  const auto definitions = value_of(load_definitions({file})).benchmarks;
  const BuildOptions& build = *definitions.at(0).build;
  EXPECT_EQ(definitions.at(1).build.get(), &build);
  const std::string base = folder.path().string();
  EXPECT_EQ(strings(build.include_dirs), (std::vector<std::string>{base + "/include", "/abs"}));
  EXPECT_EQ(strings(build.sources), (std::vector<std::string>{base + "/ops/my.cpp"}));
  EXPECT_EQ(build.libraries, std::vector<std::string>{"myops"});
  EXPECT_EQ(strings(build.library_dirs), (std::vector<std::string>{base + "/defs/lib"}));
  EXPECT_EQ(build.defines,
            (std::vector<std::pair<std::string, std::string>>{{"Z", "1"}, {"A", "2"}}));
  EXPECT_EQ(build.flags, (std::vector<std::string>{"-O3", "-g"}));
  EXPECT_EQ(build.where.line, 2);
}

TEST(Load, ReadsFilesWithOtherLineEndsAndAByteOrderMark) {
  const auto definitions = snippets_of(
      definitions_of("\xEF\xBB\xBFschema = 1\r\n[[benchmark]]\r\nlabel = \"x\"\r\nstmt = "
                     "\"\"\"\r\nx;\r\ny;\"\"\"\r\n"));
  ASSERT_EQ(definitions.size(), 1u);
  EXPECT_EQ(definitions[0].stmt->where.line, 5);
  EXPECT_EQ(definitions[0].stmt->where.column, 1);
}

// --- Files and folders ---

TEST(Load, ReadsFoldersSortedAndBelow) {
  const TemporaryFolder folder;
  folder.write("b.toml", plain("b"));
  folder.write("a/z.toml", plain("a/z"));
  folder.write("a/a.toml", plain("a/a"));
  folder.write("c.txt", "no TOML");
  folder.write(".hidden.toml", "no TOML");
  folder.write(".git/x.toml", "no TOML");
  const auto definitions = value_of(load_definitions({folder.path()})).benchmarks;
  EXPECT_EQ(labels(definitions), (std::vector<std::string>{"a/a", "a/z", "b"}));
}

TEST(Load, KeepsTheOrderOfThePathsAndReadsAFileOnce) {
  const TemporaryFolder folder;
  const fs::path a = folder.write("a.toml", plain("a"));
  const fs::path b = folder.write("b.toml", plain("b"));
  fs::create_symlink(a, folder.path() / "c.toml");
  const auto definitions =
      value_of(load_definitions({b, folder.path(), a, folder.path() / "." / "b.toml"})).benchmarks;
  EXPECT_EQ(labels(definitions), (std::vector<std::string>{"b", "a"}));
}

TEST(Load, KeepsPathsAsTheCallerWroteThem) {
  const TemporaryFolder folder;
  folder.write("sub/a.toml", plain("a"));
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  const auto file = load_definitions({"sub/a.toml"});
  const auto whole = load_definitions({"sub"});
  fs::current_path(before);
  ASSERT_TRUE(file && whole);
  EXPECT_EQ(file->benchmarks.at(0).where.file, "sub/a.toml");
  EXPECT_EQ(whole->benchmarks.at(0).statements[0].text->where.file, "sub/a.toml");
}

TEST(Load, RefusesPathsWithoutDefinitions) {
  const TemporaryFolder folder;
  EXPECT_EQ(load_errors({}, folder.path()),
            "no definitions are given: name a TOML file, or a folder of them\n");
  fs::create_directory(folder.path() / "empty");
  EXPECT_EQ(load_errors({folder.path() / "empty", folder.path() / "none.toml"}, folder.path()),
            "empty: no definition file (*.toml) in this folder: name a folder that has one, or a "
            "file\n"
            "none.toml: cannot be read: No such file or directory: check the path\n");
  const fs::path setups = folder.write("schema_only.toml", "schema = 1\n");
  EXPECT_EQ(
      load_errors({setups}, folder.path()),
      "schema_only.toml: there is no benchmark in these definitions: add a [[benchmark]] with "
      "a label and a stmt\n");
}

// --- Includes ---

TEST(Load, InheritsSetupsAndGlobalSetupsFromIncludes) {
  const TemporaryFolder folder;
  folder.write("lib/deep.toml",
               "schema = 1\nglobal_setup = \"int deep;\"\nsetups.d.cpp = \"int d;\"\n");
  folder.write("lib/left.toml",
               "schema = 1\ninclude = \"deep.toml\"\nglobal_setup = \"int left;\"\n");
  folder.write("lib/right.toml",
               "schema = 1\ninclude = [\"deep.toml\"]\nsetups.r.cpp = \"int r;\"\n" +
                   plain("not taken over").substr(11));
  const fs::path file = folder.write("a.toml", R"(schema = 1
include = ["lib/left.toml", "lib/right.toml"]
global_setup = "int own;"
[[benchmark]]
label = "x"
use = ["r", "d"]
global_setup = "int mine;"
stmt = "x;"
)");
  const auto definitions = value_of(load_definitions({file})).benchmarks;
  ASSERT_EQ(definitions.size(), 1u);
  const SharedCode& one = definitions.front().in(Language::kCpp);
  EXPECT_EQ(one.setups[0].code, "int r;");
  EXPECT_EQ(one.setups[0].where.file, (folder.path() / "lib/right.toml").string());
  EXPECT_EQ(one.setups[1].code, "int d;");
  // Each text once, those of includes first, each at its own line.
  std::vector<std::string> places;
  for (const Text& text : one.global_setups) {
    places.push_back(text.code + " " + fs::path(text.where.file).filename().string() + ":" +
                     std::to_string(text.where.line));
  }
  EXPECT_EQ(places, (std::vector<std::string>{"int deep; deep.toml:2", "int left; left.toml:3",
                                              "int own; a.toml:3", "int mine; a.toml:7"}));
}

TEST(Load, UsesOnlyTheBuildTableOfTheBenchmarksFile) {
  const TemporaryFolder folder;
  folder.write("common.toml",
               "schema = 1\nsetups.x.cpp = \"int x;\"\n[build]\nflags = [\"-O3\"]\n");
  const fs::path file = folder.write("a.toml", "schema = 1\ninclude = \"common.toml\"\n" +
                                                   plain("x").substr(11) + "use = \"x\"\n");
  EXPECT_EQ(load_definitions({file})->benchmarks.at(0).build, nullptr);
}

TEST(Load, ASetupIsUsedIfAnIncludingFileUsesIt) {
  const TemporaryFolder folder;
  folder.write("common.toml", "schema = 1\nsetups.x.cpp = \"int x;\"\nsetups.y.cpp = \"int y;\"\n");
  const std::string head = "schema = 1\ninclude = \"common.toml\"\n";
  const fs::path a = folder.write("a.toml", head + plain("a").substr(11) + "use = \"x\"\n");
  const fs::path b = folder.write("b.toml", head + plain("b").substr(11) + "use = \"y\"\n");
  EXPECT_EQ(load_errors({folder.path()}, folder.path()), "");
  // A file that is only included may have setups for files that are not loaded.
  EXPECT_EQ(load_errors({a}, folder.path()), "");
  fs::remove(b);
  EXPECT_EQ(load_errors({folder.path()}, folder.path()),
            "common.toml:3:8: no benchmark uses the setup `y`: add `use = [\"y\"]` to a benchmark, "
            "or remove the setup\n");
}

// --- Sources of the [build] table ---

std::vector<std::string> texts(const std::vector<fs::path>& paths) {
  return {paths.begin(), paths.end()};
}

TEST(BuildSources, AreFoundByWildcards) {
  TemporaryFolder folder;
  for (const char* name :
       {"ops/b.cpp", "ops/a.cpp", "ops/deep/er/c.cpp", "ops/a.cc", "ops/.d.cpp"}) {
    folder.write(name, "");
  }
  const auto sources_of = [&](const std::string& list) {
    return folder.write("defs/f.toml", "schema = 1\n[build]\nsources = [" + list +
                                           "]\n[[benchmark]]\nlabel = \"x\"\nstmt = \"x;\"\n");
  };
  const std::string ops = folder.path().string() + "/ops/";
  const auto build = value_of(load_definitions({sources_of("'../ops/b.cpp', '../ops/**/*.cpp'")}))
                         .benchmarks.at(0)
                         .build;
  EXPECT_EQ(texts(build->sources),
            (std::vector<std::string>{ops + "b.cpp", ops + "a.cpp", ops + "deep/er/c.cpp"}));
  EXPECT_EQ(build->root, folder.path() / "defs");
  folder.write(".git/HEAD", "");
  const auto some =
      value_of(load_definitions({sources_of("'../o*s/*.c*'")})).benchmarks.at(0).build;
  EXPECT_EQ(texts(some->sources),
            (std::vector<std::string>{ops + "a.cc", ops + "a.cpp", ops + "b.cpp"}));
  EXPECT_EQ(some->root, folder.path());
  const auto none = load_definitions({sources_of("'../ops/*.cu'")});
  ASSERT_FALSE(none);
  EXPECT_EQ(error_lines(none.error(), folder.path()),
            "defs/f.toml:3:13: no file matches `ops/*.cu`: paths in [build] are relative to the "
            "folder of this file\n");
}

// --- Errors ---

std::vector<std::string> names(const fs::path& folder) {
  std::vector<std::string> result;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".errors") result.push_back(entry.path().filename());
  }
  std::sort(result.begin(), result.end());
  return result;
}

class Refused : public ::testing::TestWithParam<std::string> {};

TEST_P(Refused, NamesPlaceProblemAndAdvice) {
  const fs::path folder = fixture("definitions/refused");
  const fs::path expected = folder / (fs::path(GetParam()).stem().string() + ".errors");
  EXPECT_EQ(load_errors({folder / GetParam()}, folder), text_of(expected));
}

INSTANTIATE_TEST_SUITE_P(Definitions, Refused,
                         ::testing::ValuesIn(names(fixture("definitions/refused"))),
                         [](const auto& test) { return fs::path(test.param).stem().string(); });

class Accepted : public ::testing::TestWithParam<std::string> {};

TEST_P(Accepted, HasNoErrors) {
  const fs::path folder = fixture("definitions/accepted");
  EXPECT_EQ(load_errors({folder / GetParam()}, folder), "");
}

INSTANTIATE_TEST_SUITE_P(Definitions, Accepted,
                         ::testing::ValuesIn(names(fixture("definitions/accepted"))),
                         [](const auto& test) { return fs::path(test.param).stem().string(); });

TEST(DefinitionErrors, ComeFromAllFilesSortedByFileAndPlace) {
  const TemporaryFolder folder;
  folder.write("a.toml", "schema = 1\n[[benchmark]]\nstmt = \"x;\"\nlabl = 1\n");
  folder.write("b.toml", "schema = 1\nbroken\n");
  folder.write("c.toml", "schema = 1\n[[benchmark]]\nlabel = \"c\"\n");
  EXPECT_GOLDEN("definitions/errors_of_all_files.txt", load_errors({folder.path()}, folder.path()));
}

TEST(DefinitionErrors, ReportUnusedSetupsOnlyIfEverythingWasRead) {
  const TemporaryFolder folder;
  folder.write(
      "a.toml",
      "schema = 1\nsetups.x.cpp = \"int x;\"\n[[benchmark]]\nlabel = \"a\"\nstmt = \"x;\"\n");
  folder.write("b.toml", "broken");  // it may use the setup
  EXPECT_EQ(load_errors({folder.path()}, folder.path()).find("no benchmark uses"),
            std::string::npos);
}

// Each part of a name is a nested table, and the stack is limited.
TEST(DefinitionErrors, RefuseNamesOfVeryManyParts) {
  std::string name = "a";
  for (int i = 1; i < 300'000; ++i) name += i % 2 == 0 ? " . a" : ".'\".'";
  const std::string refusal =
      "a name of more than 32 parts: remove the dots; in a text, break the line\n";
  for (const std::string& text :
       {name + " = 1\n", "[" + name + "]\n", "x = [1.5, {" + name + " = 1}]\n"}) {
    EXPECT_HAS(errors_of(text), refusal);
  }
  // As deep as the limit allows: an ordinary error.
  std::string part = "a";
  for (int i = 1; i < 32; ++i) part += ".a";
  std::string nested = "1";
  for (int i = 0; i < 250; ++i) nested = "{" + part + " = " + nested + "}";
  EXPECT_HAS(errors_of("schema = 1\na = " + nested + "\n"), "unknown key `a`");
}

TEST(DefinitionErrors, TextsAndListsMayHaveMoreDots) {
  const std::string dots(100, '.');
  std::string numbers;
  for (int i = 0; i < 100; ++i) numbers += std::to_string(i) + ".5, ";
  EXPECT_EQ(errors_of("schema = 1\n[[benchmark]]\nlabel = \"a\"\nstmt = \"x\"\ndescription = \"" +
                      dots + "\"  # " + dots + "\nmatrix = { n = [" + numbers + "] }\ntags = \"a." +
                      numbers + "\"\n"),
            "");
}

}  // namespace
}  // namespace instr::load_test
