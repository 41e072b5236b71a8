#include "core/definitions/definition_keys.h"

#include "core/definitions/metrics.h"

namespace instr {
namespace {

constexpr Key kFileKeys[] = {
    {"schema", Shape::kInteger, "schema = 1"},
    {"include", Shape::kStrings, "include = [\"common.toml\"]"},
    {"global_setup", Shape::kString, "global_setup = \"#include <vector>\""},
    {"py_global_setup", Shape::kString, "py_global_setup = \"import math\""},
    {"setups", Shape::kTable, "[setups.pair]"},
    {"benchmark", Shape::kTables, "[[benchmark]]"},
    {"build", Shape::kTable, "[build]"},
};

constexpr Key kSetupKeys[] = {
    {"cpp", Shape::kString, "cpp = \"auto x = torch::rand({4, 4});\""},
    {"py", Shape::kString, "py = \"x = torch.rand((4, 4))\""},
};

constexpr Key kBenchmarkKeys[] = {
    {"label", Shape::kString, "label = \"matmul/mm\""},
    {"description", Shape::kString, "description = \"small matrices\""},
    {"use", Shape::kStrings, "use = [\"pair\"]"},
    {"setup", Shape::kString, "setup = \"auto x = torch::rand({4, 4});\""},
    {"global_setup", Shape::kString, "global_setup = \"#include <vector>\""},
    {"stmt", Shape::kString, "stmt = \"auto y = torch::mm(x, w);\""},
    {"stmts", Shape::kStringsTable, "[benchmark.stmts]"},
    {"module", Shape::kString, "module = \"torch::nn::Linear(4, 2)\""},
    {"modules", Shape::kStringTable, "[benchmark.modules]"},
    {"py_setup", Shape::kString, "py_setup = \"x = torch.rand((4, 4))\""},
    {"py_global_setup", Shape::kString, "py_global_setup = \"import math\""},
    {"py_stmt", Shape::kString, "py_stmt = \"y = torch.mm(x, w)\""},
    {"py_stmts", Shape::kStringsTable, "[benchmark.py_stmts]"},
    {"py_module", Shape::kString, "py_module = \"torch.nn.Linear(4, 2)\""},
    {"py_modules", Shape::kStringTable, "[benchmark.py_modules]"},
    {"torchscript", Shape::kStringOrTrue, "torchscript = \"y = torch.mm(x, w)\""},
    {"package", Shape::kString, "package = \"mm.pt2\""},
    {"signature", Shape::kString, "signature = \"f(x, w) -> y\""},
    {"autograd", Shape::kBoolean, "autograd = true"},
    {"reduce", Shape::kString, "reduce = \"sum\""},
    {"explicit", Shape::kBoolean, "explicit = true"},
    {"threads", Shape::kIntegers, "threads = [1, 2]"},
    {"device", Shape::kStrings, "device = [\"cpu\"]"},
    {"matrix", Shape::kMatrix, "matrix = { n = [4, 64] }"},
    {"libtorch", Shape::kString, "libtorch = \">=2.0\""},
    {"python", Shape::kStrings, "python = [\"timm>=1.0\"]"},
    {"limit", Shape::kStringTable, "limit = { ir = \"0.5%\" }"},
    {"tolerance", Shape::kTable, "tolerance = { rtol = 1e-3, atol = 1e-5 }"},
    {"cosine", Shape::kNumber, "cosine = 0.99"},
    {"rmse", Shape::kNumber, "rmse = 1e-3"},
    {"tags", Shape::kStrings, "tags = [\"slow\"]"},
    {"warmup", Shape::kInteger, "warmup = 10"},
    {"iterations", Shape::kInteger, "iterations = 100"},
    {"timeout", Shape::kNumber, "timeout = 60"},
};

constexpr Key kBuildKeys[] = {
    {"include_dirs", Shape::kStringList, "include_dirs = [\"../include\"]"},
    {"sources", Shape::kStringList, "sources = [\"my_ops.cpp\"]"},
    {"libraries", Shape::kStringList, "libraries = [\"myops\"]"},
    {"library_dirs", Shape::kStringList, "library_dirs = [\"../build\"]"},
    {"defines", Shape::kDefineTable, "defines = { FAST = \"1\" }"},
    {"flags", Shape::kStringList, "flags = [\"-march=haswell\"]"},
};

constexpr Key kToleranceKeys[] = {
    {"rtol", Shape::kNumber, "tolerance = { rtol = 1e-3 }"},
    {"atol", Shape::kNumber, "tolerance = { atol = 1e-5 }"},
};

}  // namespace

const char* describe(Shape shape) {
  switch (shape) {
    case Shape::kString: return "a string";
    case Shape::kStrings: return "a string or a list of strings";
    case Shape::kStringList: return "a list of strings";
    case Shape::kInteger: return "an integer";
    case Shape::kIntegers: return "an integer or a list of integers";
    case Shape::kNumber: return "a number";
    case Shape::kBoolean: return "true or false";
    case Shape::kStringOrTrue: return "a string or true";
    case Shape::kTable: return "a table";
    case Shape::kTables: return "a list of tables";
    case Shape::kStringTable: return "a table of strings";
    case Shape::kStringsTable: return "a table of strings or lists of strings";
    case Shape::kDefineTable: return "a table of strings or integers";
    case Shape::kMatrix: return "a table of lists of integers, floats, strings or booleans";
  }
  return "something else";
}

Keys file_keys() { return kFileKeys; }
Keys setup_keys() { return kSetupKeys; }
Keys benchmark_keys() { return kBenchmarkKeys; }
Keys build_keys() { return kBuildKeys; }
Keys limit_keys() {
  static const std::vector<std::string> kExamples = [] {
    std::vector<std::string> examples;
    for (const Metric& metric : kMetrics) {
      examples.push_back(std::string("limit = { ") + metric.name + " = \"" + metric.example_limit +
                         "\" }");
    }
    return examples;
  }();
  static const std::vector<Key> kKeys = [] {
    std::vector<Key> keys;
    for (std::size_t i = 0; i < kMetrics.size(); ++i) {
      keys.push_back({kMetrics[i].name, Shape::kString, kExamples[i]});
    }
    return keys;
  }();
  return kKeys;
}
Keys tolerance_keys() { return kToleranceKeys; }

std::vector<std::string> names_of(Keys keys) {
  std::vector<std::string> names;
  for (const Key& key : keys) names.emplace_back(key.name);
  return names;
}

const std::vector<std::string>& known_devices() {
  static const std::vector<std::string> kDevices{"cpu", "cuda"};
  return kDevices;
}

const std::vector<std::string>& known_reductions() {
  static const std::vector<std::string> kReductions{"sum", "mean"};
  return kReductions;
}

}  // namespace instr
