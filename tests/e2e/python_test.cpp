// Snippets in Python, in the interpreter that the LibTorch was installed for.

#include "core/profile/function_names.h"
#include "core/results/profiles_file.h"
#include "core/results/results_file.h"
#include "tests/e2e/python_fixture.h"
#include "tests/labels.h"

namespace instr::e2e::python_test {
namespace {

const RunsUnder kNewestLibtorch("newest", "Python.*:ExplainedPython.*");

// Functions with different numbers of nops, which Python calls through ctypes in the same way.
constexpr const char* kNops = R"(
extern "C" void nops_100() { __asm__ volatile(".rept 100\nnop\n.endr"); }
extern "C" void nops_350() { __asm__ volatile(".rept 350\nnop\n.endr"); }
)";

constexpr const char* kDefinitions = R"toml(schema = 1

[setups.nops]
py = """
import ctypes
library = ctypes.CDLL("FOLDER/nops.so")
nops_100, nops_350 = library.nops_100, library.nops_350
"""

[[benchmark]]
label = "nops"
use = ["nops"]
[benchmark.py_stmts]
few = "nops_100()"
many = "nops_350()"

[[benchmark]]
label = "nothing"
py_stmt = "pass"

[[benchmark]]
label = "twice"
py_setup = "x = torch.ones((4, 4))"
[benchmark.py_stmts]
once = "x.add_(1)"
twice = "x.add_(1); x.add_(1)"
thrice = "x.add_(1); x.add_(1); x.add_(1)"

[[benchmark]]
label = "memory"
py_stmt = "bytearray(1000)"

[[benchmark]]
label = "relu"
setup = "auto x = torch::ones({4, 4});"
stmt = "auto y = torch::relu(x);"
py_setup = "x = torch.ones((4, 4))"
py_stmt = "y = torch.relu(x)"
signature = "f(x) -> y"
torchscript = true

[[benchmark]]
label = "gradient"
py_setup = "w = torch.ones(3, requires_grad=True)"
py_module = "torch.nn.Linear(3, 2)"
signature = "f(w) -> y"
autograd = true
reduce = "sum"
)toml";

class Python : public PythonTest {
 protected:
  void compile_nops() const {
    program_output({"g++", "-shared", "-fPIC", "-o", (folder_.path() / "nops.so").string(),
                    write("nops.cpp", kNops).string()});
  }
};

double metric(const Records& records, const std::string& key, const char* name) {
  const auto record = records.find(key);
  if (record == records.end() || record->second.at("outcome") != "counted") {
    ADD_FAILURE() << key << " was not counted";
    return -1;
  }
  return record->second.at("metrics").at(name).get<double>();
}

double count(const Records& records, const std::string& key) {
  return metric(records, key, "instructions");
}

TEST_F(Python, CountsAreExactAndReproducible) {
  compile_nops();
  write("all.toml", kDefinitions);
  const Records records = counted();

  EXPECT_EQ(count(records, "nops/many/py/eager/forward/t1/cpu") -
                count(records, "nops/few/py/eager/forward/t1/cpu"),
            250);
  EXPECT_EQ(count(records, "nothing/py/eager/forward/t1/cpu"), 0);
  EXPECT_EQ(metric(records, "nothing/py/eager/forward/t1/cpu", "allocs"), 0);
  EXPECT_EQ(metric(records, "nothing/py/eager/forward/t1/cpu", "peak_bytes"), 0);
  EXPECT_EQ(count(records, "twice/thrice/py/eager/forward/t1/cpu") -
                count(records, "twice/twice/py/eager/forward/t1/cpu"),
            count(records, "twice/twice/py/eager/forward/t1/cpu") -
                count(records, "twice/once/py/eager/forward/t1/cpu"));
  // The object and its content, which has one byte more.
  EXPECT_EQ(metric(records, "memory/py/eager/forward/t1/cpu", "allocs"), 2);
  EXPECT_GE(metric(records, "memory/py/eager/forward/t1/cpu", "alloc_bytes"), 1001);
  // Python runs LibTorch's operator and its own binding of it.
  EXPECT_GT(count(records, "relu/py/eager/forward/t1/cpu"),
            count(records, "relu/eager/forward/t1/cpu"));
  EXPECT_GT(count(records, "gradient/py/eager/forward_backward/t1/cpu"),
            count(records, "gradient/py/eager/forward/t1/cpu"));

  Records again =
      counted({"--language=py", "--jobs=1"}, {"INSTR_TEST_REVERSE=1", "INSTR_TEST_CHURN=5000"});
  EXPECT_EQ(again.size(), records.size() - 2);  // relu in C++ and in TorchScript
  for (const auto& [key, record] : again) {
    EXPECT_EQ(record.at("metrics"), records.at(key).at("metrics")) << key;
  }
  // A variant under a new Valgrind.
  again = counted({"--filter=twice/once"}, {"INSTR_TEST_ISOLATION=process"});
  EXPECT_EQ(count(again, "twice/once/py/eager/forward/t1/cpu"),
            count(records, "twice/once/py/eager/forward/t1/cpu"));
}

// The self cost of each function, by key.
std::map<std::string, std::map<CodeName, double>> self_costs(const fs::path& file) {
  std::map<std::string, std::map<CodeName, double>> all;
  const auto results = instr::read_results(file);
  if (!results) throw std::runtime_error(to_string(results.error()));
  const auto profiles = read_profiles(file, *results);
  for (const Measurement& measurement : results->measurements) {
    const auto of_key =
        profiles ? profiles->functions(measurement.variant.key) : tl::unexpected(Error{});
    if (!of_key) throw std::runtime_error(to_string(of_key.error()));
    for (const FunctionCost& function : *of_key) {
      all[measurement.variant.key][code_name(function.function, function.object)] += function.ir;
    }
  }
  return all;
}

// With paths, instrumentation starts in the interpreter's loop, whose name Callgrind cannot know.
TEST_F(Python, PathsOfCallsHaveTheFunctionsOfThePlainProfile) {
  compile_nops();
  write("all.toml", kDefinitions);
  const fs::path output = folder_.path() / "results.jsonl";
  counted({"--language=py"});
  const auto plain = self_costs(output);
  counted({"--language=py", "--call-paths"});
  const auto paths = self_costs(output);
  ASSERT_EQ(plain.size(), 11U);
  for (const auto& [key, functions] : plain) {
    ASSERT_TRUE(paths.contains(key)) << key;
    EXPECT_EQ(paths.at(key).size(), functions.size()) << key;
    for (const auto& [code, cost] : functions) {
      const auto same = paths.at(key).find(code);
      ASSERT_NE(same, paths.at(key).end()) << key << " " << code.function;
      EXPECT_NEAR(same->second, cost, 1e-6) << key << " " << code.function;
    }
  }
  expect_status(0, run({"compare", output.string(), output.string()}));
}

// Instructions that meet an object with a dictionary, and two classes alternately: CPython 3.11 and
// later specialise them again and again. The count does not depend on the number of warm-up runs.
constexpr const char* kAdapting = R"toml(schema = 1

[setups.classes]
py = """
class Base:
    def value(self):
        return 1

class Heir(Base):
    pass

def own():
    one = Base()
    one.__dict__
    return one.value()

def both(objects):
    sum = 0
    for one in objects:
        sum += one.value()
    return sum

objects = Base(), Heir()
"""

[[benchmark]]
label = "own/40"
use = ["classes"]
py_stmt = "own()"
warmup = 40
iterations = 12

[[benchmark]]
label = "own/67"
use = ["classes"]
py_stmt = "own()"
warmup = 67
iterations = 12

[[benchmark]]
label = "both/40"
use = ["classes"]
py_stmt = "both(objects)"
warmup = 40
iterations = 12

[[benchmark]]
label = "both/67"
use = ["classes"]
py_stmt = "both(objects)"
warmup = 67
iterations = 12
)toml";

TEST_F(Python, IsCountedOnceItsCodeIsSpecialised) {
  write("all.toml", kAdapting);
  const Records records = counted();
  for (const std::string label : {"own", "both"}) {
    const std::string early = label + "/40/py/eager/forward/t1/cpu";
    const std::string late = label + "/67/py/eager/forward/t1/cpu";
    EXPECT_EQ(records.at(early).at("steady"), true) << label;
    EXPECT_EQ(records.at(late).at("steady"), true) << label;
    EXPECT_EQ(count(records, early), count(records, late)) << label;
    EXPECT_EQ(records.at(early).at("warmup"), 40);
    EXPECT_EQ(records.at(late).at("warmup"), 67);
  }
}

constexpr const char* kFailing = R"toml(schema = 1
py_global_setup = """
def helper(a):
    return a / 0
"""

[[benchmark]]
label = "syntax"
py_stmt = """
y = 1
torch.add(1
"""

[[benchmark]]
label = "helper"
py_stmt = "helper(1)"

[[benchmark]]
label = "break"
py_stmt = "break"

[[benchmark]]
label = "return"
py_stmt = "x = 1; return"

[[benchmark]]
label = "exit"
py_stmt = "import sys; sys.exit(3)"

[[benchmark]]
label = "recursion"
py_setup = "def f(n): return f(n + 1)"
py_stmt = "f(0)"

[[benchmark]]
label = "changes the state"
py_stmt = "import gc, random; gc.enable(); random.seed(5); torch.manual_seed(1); print('x' * 100_000)"

[[benchmark]]
label = "good"
py_setup = "x = torch.ones((4, 4))"
py_stmt = "x + x"
)toml";

TEST_F(Python, FailuresAreAtTheTomlLineAndAffectNoOtherBenchmark) {
  write("all.toml", kFailing);
  const fs::path output = folder_.path() / "all.jsonl";
  expect_status(1, run({"--definitions=" + (folder_.path() / "all.toml").string(),
                        "--output=" + output.string(), "--quiet"}));
  const Records records = read_results(output);
  const auto failure = [&](const std::string& label) {
    const nlohmann::json& record = records.at(label + "/py/eager/forward/t1/cpu");
    if (record.at("outcome") != "failed") return label + " did not fail";
    std::string message = record.at("failure").at("message");
    const std::string folder = folder_.path().string() + "/";
    for (std::size_t at; (at = message.find(folder)) != std::string::npos;) {
      message.erase(at, folder.size());
    }
    return record.at("failure").at("kind").get<std::string>() + " " +
           message.substr(0, message.find('\n'));
  };
  EXPECT_EQ(failure("syntax").substr(0, 58),
            "compile_error all.toml:11:10: SyntaxError: '(' was never c");
  EXPECT_EQ(failure("helper"), "exception all.toml:4:5: ZeroDivisionError: division by zero");
  EXPECT_EQ(failure("break").substr(0, 59),
            "compile_error all.toml:20:12: SyntaxError: 'break' outside ");
  EXPECT_EQ(failure("return").substr(0, 59),
            "compile_error all.toml:24:19: SyntaxError: 'return' would l");
  EXPECT_EQ(failure("exit"),
            "exited all.toml:28:12: in the statement: the snippet ended the process with exit "
            "status 3");
  EXPECT_EQ(failure("recursion").substr(0, 45), "exception all.toml:32:13: RecursionError: max");
  EXPECT_GT(count(records, "changes the state/py/eager/forward/t1/cpu"), 0);

  const Records alone = counted({"--filter=^good/"});
  EXPECT_EQ(alone.size(), 1u);
  EXPECT_EQ(count(alone, "good/py/eager/forward/t1/cpu"),
            count(records, "good/py/eager/forward/t1/cpu"));
}

constexpr const char* kCalls = R"toml(schema = 1
py_global_setup = """
import ctypes
library = ctypes.CDLL("FOLDER/nops.so")

def few(): library.nops_100()
def many(): library.nops_350()
def down(n): return n and down(n - 1)
def most(): raise KeyError
def all_of_them():
    few(); many(); many(); down(3)
    try: most()
    except KeyError: pass
    return sum(i for i in range(2))
"""
[[benchmark]]
label = "calls"
py_stmt = "all_of_them()"
)toml";

TEST_F(Python, IsExplainedByItsFunctions) {
  compile_nops();
  write("all.toml", kCalls);
  const std::string key = "calls/py/eager/forward/t1/cpu";
  const auto explanation = explained(key, {"--functions=python"});
  std::map<std::string, nlohmann::json> functions;
  double sum = 0;
  for (const auto& one : explanation.at("functions")) {
    std::string name = one.at("function");
    functions[name.substr(name.rfind('>') + 1)] = one;
    sum += one.at("self").get<double>();
  }
  const auto value = [&](const char* name, const char* what) {
    return functions.contains(name) ? functions[name].at(what).get<double>() : -1;
  };
  EXPECT_EQ(value("many", "self") - 2 * value("few", "self"), 2 * 250);
  EXPECT_EQ(value("few", "calls"), 1);
  EXPECT_EQ(value("many", "calls"), 2);
  EXPECT_EQ(value("most", "calls"), 1);
  EXPECT_EQ(value("down", "calls"), 4);
  EXPECT_TRUE(functions["down"].at("recursive"));
  EXPECT_EQ(value("down", "inclusive"), value("down", "self"));
  const double rounding = 1e-6;  // of sums of costs per iteration
  EXPECT_NEAR(value("the snippet", "inclusive"), sum, rounding);
  EXPECT_NEAR(value("all_of_them", "inclusive"), sum - value("the snippet", "self"), rounding);
  // Following calls costs more, but not much.
  const double count = explanation.at("instructions");
  EXPECT_GT(sum, count);
  EXPECT_LT(sum, 1.5 * count);
  EXPECT_EQ(functions["many"].at("object"), (folder_.path() / "all.toml").string() + ":7:1");
  ASSERT_EQ(functions["many"].at("callers").size(), 1U);
  EXPECT_EQ(functions["many"].at("callers")[0].at("function"), "all_of_them");
}

TEST_F(Python, WithoutATorchItIsSkippedWithTheReason) {
  write("all.toml", kDefinitions);
  program_output({"python3", "-m", "venv", "--without-pip", (folder_.path() / "bare").string()});
  const fs::path bare = folder_.path() / "bare/bin/python";
  const Records records = counted({"--filter=relu/", "--python=" + bare.string()});
  EXPECT_EQ(records.at("relu/eager/forward/t1/cpu").at("outcome"), "counted");
  const nlohmann::json& skipped = records.at("relu/py/eager/forward/t1/cpu");
  EXPECT_EQ(skipped.at("outcome"), "skipped");
  EXPECT_EQ(skipped.at("reason"), bare.string() +
                                      " has no torch: name an interpreter with --python, or select "
                                      "C++ alone: --language=cpp");
}

// --- Explanations ---

class ExplainedPython : public PythonTest {};

TEST_F(ExplainedPython, AFirstCallIsExplainedByItsFunctions) {
  write("all.toml", R"toml(schema = 1
[[benchmark]]
label = "first"
warmup = 0
py_global_setup = """
known = {}

def make(): return list(range(50))
def get():
    if "value" not in known: known["value"] = make()
    return known["value"]
"""
py_stmt = "get()"
)toml");
  std::map<std::string, double> calls;
  const auto explanation = explained("first/py/eager/forward/t1/cpu", {"--functions=python"});
  for (const auto& one : explanation.at("functions")) {
    calls[one.at("function")] = one.at("calls").get<double>();
  }
  EXPECT_EQ(calls["get"], 1);
  EXPECT_EQ(calls["make"], 1) << "only the first call makes the value";
}

TEST_F(ExplainedPython, NativeFunctionsAreCalledAsOftenAsTheStatementCallsThem) {
  write("all.toml", R"toml(schema = 1
[[benchmark]]
label = "twice"
py_setup = "x = torch.ones(4)"
py_stmt = "torch.relu(x); torch.relu(x)"
)toml");
  double calls = 0;
  const auto explanation = explained("twice/py/eager/forward/t1/cpu");
  for (const auto& one : explanation.at("functions")) {
    const std::string name = one.at("function");
    if (name.starts_with("at::_ops::relu::call(")) calls += one.at("calls").get<double>();
  }
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace instr::e2e::python_test
