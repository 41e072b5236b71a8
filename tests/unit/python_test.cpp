// The probe of an interpreter, and the compiler of snippets run by a real interpreter.
#include "core/compile/python/python.h"

#include <nlohmann/json.hpp>

#include "core/base/process.h"
#include "core/compile/cache.h"
#include "tests/testing.h"

namespace instr::python_test {
namespace {

using namespace testing;

using nlohmann::json;

json probed() {
  return {{"implementation", "cpython"},
          {"version", "3.11.2"},
          {"build", "3.11.2 (main, Apr 28 2025) [GCC 12.2.0]"},
          {"is_free_threaded", false},
          {"program", "/usr/bin/python3.11"},
          {"home", "/usr"},
          {"platform_home", "/usr"},
          {"path", {"/venv/lib/python3.11/site-packages"}},
          {"torch", "/venv/lib/python3.11/site-packages/torch"},
          {"torch_version", "2.13.0"},
          {"packages", {{"timm", "1.0.9"}, {"torch-xla", "2.9.0+cpu"}}}};
}

std::string error_of(const json& probe) {
  auto python = parse_probe(probe.dump(), "/venv/bin/python");
  return python ? "none" : python.error().what;
}

TEST(Python, IsRefusedWithTheReason) {
  json other = probed();
  other["implementation"] = "pypy";
  EXPECT_EQ(error_of(other), "/venv/bin/python is pypy 3.11.2: snippets need CPython 3.9 or later");
  other = probed();
  other["version"] = "3.8.19";
  EXPECT_EQ(error_of(other),
            "/venv/bin/python is cpython 3.8.19: snippets need CPython 3.9 or later");
  other = probed();
  other["is_free_threaded"] = true;
  EXPECT_EQ(
      error_of(other),
      "/venv/bin/python is a free-threaded build, whose counts depend on more than the snippet");
  other = probed();
  other["torch"] = nullptr;
  EXPECT_EQ(error_of(other), "/venv/bin/python has no torch");
  EXPECT_EQ(error_of("a Python that prints something else"), "/venv/bin/python does not run");
}

TEST(Python, IsUsedWithACautionIfItIsNewerThanThoseTried) {
  json probe = probed();
  const auto caution = [&](const char* version) {
    probe["version"] = version;
    return find_caution(value_of(parse_probe(probe.dump(), "/venv/bin/python")));
  };
  EXPECT_EQ(caution("3.9.2"), std::nullopt);
  EXPECT_EQ(caution("3.14.8"), std::nullopt);
  EXPECT_EQ(caution("3.14.0"),
            "not tried with CPython 3.14.0: counts in Python may be less steady");
  EXPECT_EQ(caution("3.15.0rc1"),
            "not tried with CPython 3.15.0rc1: counts in Python may be less steady");
}

TEST(Python, LacksAPackageOrItsVersion) {
  const auto python = parse_probe(probed().dump(), "/venv/bin/python");
  ASSERT_TRUE(python);
  const auto lacking = [&](const std::vector<std::string>& needed) {
    return find_lacking_package(*python, needed).value_or("nothing");
  };
  EXPECT_EQ(lacking({}), "nothing");
  EXPECT_EQ(lacking({"timm>=1.0, <2", "Torch_XLA==2.9"}), "nothing");
  EXPECT_EQ(lacking({"timm", "transformers >=5"}),
            "needs the package transformers: /venv/bin/python -m pip install timm "
            "'transformers >=5'");
  EXPECT_EQ(lacking({"timm>=1.1"}),
            "needs timm >=1.1, this is 1.0.9: /venv/bin/python -m pip install 'timm>=1.1'");
}

fs::path script(const char* name) {
  return fs::path(INSTR_SOURCE_DIR) / "worker" / "python" / name;
}

// The reply of the real compiler of snippets.
json compiled(const json& request) {
  const TemporaryFolder folder;
  EXPECT_TRUE(write_text(folder.path() / "request", request.dump()));
  SpawnOptions spawn;
  spawn.argv = {"sh", "-c", "exec python3 \"$0\" < \"$1\"", script("compile_snippets.py").string(),
                (folder.path() / "request").string()};
  auto result = run_command(spawn);
  EXPECT_TRUE(result && result->exit_code == 0) << result->errors;
  return json::parse(result->output);
}

json snippet(const char* symbol, const char* setup, const char* statement) {
  return {{"symbol", symbol},
          {"purpose", "measure"},
          {"module", {"import math"}},
          {"setup", {setup}},
          {"statement", {statement}}};
}

// Runs the real probe, with a package as installed by pip.
TEST(PythonProbe, ListsInstalledPackages) {
  const TemporaryFolder folder;
  const fs::path package = folder.path() / "Torch_XLA-2.9.0.dist-info";
  fs::create_directory(package);
  ASSERT_TRUE(write_text(package / "METADATA", "Name: Torch_XLA\nVersion: 2.9.0+cpu\n"));
  SpawnOptions spawn;
  spawn.argv = {"sh", "-c", "PYTHONPATH=\"$0\" exec python3 \"$1\"", folder.path().string(),
                script("probe.py").string()};
  auto result = run_command(spawn);
  ASSERT_TRUE(result && result->exit_code == 0) << result->errors;
  EXPECT_EQ(json::parse(result->output).at("packages").at("torch-xla"), "2.9.0+cpu");
}

// Runs the real probe, with a made-up torch that refuses TorchScript without a variable, or lacks
// it.
TEST(PythonProbe, FindsTorchScriptAndTheVariableThatItNeeds) {
  const TemporaryFolder folder;
  const fs::path torch = folder.path() / "torch";
  fs::create_directories(torch / "jit");
  ASSERT_TRUE(write_text(torch / "__init__.py", ""));
  ASSERT_TRUE(write_text(torch / "version.py", "__version__ = '2.16.0'\n"));
  const auto probe = [&] {
    SpawnOptions spawn;
    spawn.argv = {"sh", "-c", "PYTHONPATH=\"$0\" exec python3 \"$1\"", folder.path().string(),
                  script("probe.py").string()};
    const auto result = run_command(spawn);
    EXPECT_TRUE(result && result->exit_code == 0) << result->errors;
    return *parse_probe(result->output, "python3");
  };
  EXPECT_FALSE(probe().has_torchscript);
  ASSERT_TRUE(write_text(torch / "jit/_script.py", ""));
  ASSERT_TRUE(write_text(torch / "jit/_state.py", "name = 'PYTORCH_JIT'\n"));
  EXPECT_TRUE(probe().has_torchscript);
  EXPECT_EQ(probe().torchscript_variable, "");
  ASSERT_TRUE(
      write_text(torch / "jit/_state.py",
                 "if os.environ.get(\"TORCH_2_16_ALLOW_TORCHSCRIPT\") != \"I promise it\":\n"));
  EXPECT_EQ(probe().torchscript_variable, "TORCH_2_16_ALLOW_TORCHSCRIPT=I promise it");
}

TEST(PythonCompiler, ReportsErrorsAtTheirPlaces) {
  const json reply = compiled(
      {snippet("good", "x = 1", "x + math.pi"), snippet("setup", "x = 1\ny = (", "x"),
       snippet("statement", "x = 1", "x +"), snippet("indented", "    x = 1\n    y = 2", "x; y"),
       snippet("break", "x = 1", "if x: break"), snippet("return", "x = 1", "\nreturn x"),
       snippet("in a function", "def f(): return 1", "f()"), snippet("empty", "", "")});
  const auto place = [&reply](std::size_t i) {
    if (reply[i].contains("code")) return std::string("compiled");
    return reply[i].at("symbol").get<std::string>() + " " +
           std::to_string(reply[i].at("line").get<int>()) + ":" +
           std::to_string(reply[i].at("column").get<int>());
  };
  EXPECT_EQ(place(0), "compiled");
  EXPECT_EQ(place(1), "setup 200002:5");
  EXPECT_EQ(place(2), "statement 300001:4");
  EXPECT_EQ(place(3), "compiled");
  EXPECT_EQ(place(4), "break 300001:7");
  EXPECT_EQ(place(5), "return 300002:1");
  EXPECT_EQ(place(6), "compiled");
  EXPECT_EQ(place(7), "compiled");
}

TEST(PythonCompiler, CodeDoesNotDependOnOtherSnippets) {
  const json one = snippet("good", "x = 1", "x + math.pi");
  const json alone = compiled(json::array({one}));
  const json among = compiled({snippet("before", "a = 1", "a"), one, snippet("after", "", "1")});
  EXPECT_EQ(among[1].at("code"), alone[0].at("code"));
}

}  // namespace
}  // namespace instr::python_test
