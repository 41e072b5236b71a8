#include "core/definitions/definition_keys.h"

namespace instr {
namespace {

constexpr Key kFileKeys[] = {
    {"schema", Shape::kInteger, "schema = 1"},
    {"include", Shape::kStrings, "include = [\"common.toml\"]"},
    {"global_setup", Shape::kString, "global_setup = \"#include <vector>\""},
    {"setups", Shape::kTable, "[setups.pair]"},
    {"benchmark", Shape::kTables, "[[benchmark]]"},
    {"build", Shape::kTable, "[build]"},
};

constexpr Key kSetupKeys[] = {
    {"cpp", Shape::kString, "cpp = \"auto x = torch::rand({4, 4});\""},
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
    {"torchscript", Shape::kString, "torchscript = \"y = torch.mm(x, w)\""},
    {"package", Shape::kString, "package = \"mm.pt2\""},
    {"signature", Shape::kString, "signature = \"f(x, w) -> y\""},
    {"autograd", Shape::kBoolean, "autograd = true"},
    {"reduce", Shape::kString, "reduce = \"sum\""},
    {"explicit", Shape::kBoolean, "explicit = true"},
    {"threads", Shape::kIntegers, "threads = [1, 2]"},
    {"device", Shape::kStrings, "device = [\"cpu\"]"},
    {"matrix", Shape::kMatrix, "matrix = { n = [4, 64] }"},
    {"libtorch", Shape::kString, "libtorch = \">=2.0\""},
    {"limit", Shape::kStringTable, "limit = { ir = \"0.5%\" }"},
    {"tolerance", Shape::kTable, "tolerance = { rtol = 1e-3, atol = 1e-5 }"},
    {"cosine", Shape::kNumber, "cosine = 0.99"},
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

// The names are those of limit_metrics().
constexpr Key kLimitKeys[] = {
    {"ir", Shape::kString, "limit = { ir = \"0.5%\" }"},
    {"allocs", Shape::kString, "limit = { allocs = \"+0\" }"},
    {"alloc_bytes", Shape::kString, "limit = { alloc_bytes = \"0%\" }"},
    {"peak_bytes", Shape::kString, "limit = { peak_bytes = \"1%|+4096\" }"},
    {"data_reads", Shape::kString, "limit = { data_reads = \"1%\" }"},
    {"data_writes", Shape::kString, "limit = { data_writes = \"1%\" }"},
    {"i1_misses", Shape::kString, "limit = { i1_misses = \"1%\" }"},
    {"d1_misses", Shape::kString, "limit = { d1_misses = \"1%\" }"},
    {"l1_hits", Shape::kString, "limit = { l1_hits = \"1%\" }"},
    {"ll_hits", Shape::kString, "limit = { ll_hits = \"1%\" }"},
    {"ram_hits", Shape::kString, "limit = { ram_hits = \"1%\" }"},
    {"estimated_cycles", Shape::kString, "limit = { estimated_cycles = \"1%\" }"},
    {"branches", Shape::kString, "limit = { branches = \"1%\" }"},
    {"mispredictions", Shape::kString, "limit = { mispredictions = \"1%\" }"},
    {"wall", Shape::kString, "limit = { wall = \"5%\" }"},
    {"cpu", Shape::kString, "limit = { cpu = \"5%\" }"},
    {"first_result", Shape::kString, "limit = { first_result = \"20%\" }"},
    {"ready", Shape::kString, "limit = { ready = \"20%\" }"},
    {"device_peak_bytes", Shape::kString, "limit = { device_peak_bytes = \"1%\" }"},
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
Keys limit_keys() { return kLimitKeys; }
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
