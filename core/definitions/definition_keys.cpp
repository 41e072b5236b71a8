#include "core/definitions/definition_keys.h"

#include <fmt/format.h>

#include <deque>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/definitions/metrics.h"

namespace instr {

namespace {

constexpr Key kFileKeys[] = {
    {.name = "schema",
     .shape = Shape::kInteger,
     .example = "schema = 1",
     .description = "Version of the definition format of this file.",
     .is_required = true,
     .range = {kDefinitionSchema, kDefinitionSchema}},
    {"include", Shape::kStrings, "include = [\"common.toml\"]",
     "Other definition files, relative to this one, whose setups and global_setup can be used "
     "here. Their benchmarks are not included."},
    {"global_setup", Shape::kString, "global_setup = \"#include <vector>\"",
     "C++ at namespace scope, such as #include lines and functions, for every benchmark of this "
     "file."},
    {"py_global_setup", Shape::kString, "py_global_setup = \"import math\"",
     "Python at module level, such as imports and functions, for every Python statement of this "
     "file."},
    {.name = "limit",
     .shape = Shape::kTable,
     .example = "limit = { instructions = \"0.5%\" }",
     .description = "The limits of the benchmarks of this file that do not set their own.",
     .members = limit_keys},
    {.name = "setups",
     .shape = Shape::kNamedTables,
     .example = "[setups.pair]",
     .description = "Named setups, for `use`.",
     .members = setup_keys},
    {.name = "benchmark",
     .shape = Shape::kTables,
     .example = "[[benchmark]]",
     .description = "The benchmarks of this file: a [[benchmark]] for each.",
     .members = benchmark_keys},
    {.name = "backend",
     .shape = Shape::kTables,
     .example = "[[backend]]",
     .description = "Backends of torch.compile() of your own, for --backend.",
     .members = backend_keys},
    {.name = "setting",
     .shape = Shape::kTables,
     .example = "[[setting]]",
     .description = "Settings of torch, for --setting.",
     .members = setting_keys},
    {.name = "build",
     .shape = Shape::kTable,
     .example = "[build]",
     .description = "Code of your own that the snippets need. Paths are relative to this file.",
     .members = build_keys},
};

constexpr Key kSetupKeys[] = {
    {"cpp", Shape::kString, "cpp = \"auto x = torch::rand({4, 4});\"",
     "C++ that runs before the measurement and declares what the statement uses."},
    {"py", Shape::kString, "py = \"x = torch.rand((4, 4))\"",
     "Python that runs before the measurement and declares what the statement uses."},
};

constexpr Key kBenchmarkKeys[] = {
    {.name = "label",
     .shape = Shape::kString,
     .example = "label = \"matmul/mm\"",
     .description =
         "The benchmark's name; slashes make groups. The first part of each of its keys.",
     .is_required = true},
    {"description", Shape::kString, "description = \"small matrices\"",
     "The purpose of the benchmark, for people."},
    {"use", Shape::kStrings, "use = [\"pair\"]",
     "Named setups, in the order in which they run; `setup` comes after them."},
    {"setup", Shape::kString, "setup = \"auto x = torch::rand({4, 4});\"",
     "C++ that runs before the measurement and declares what the statement uses."},
    {"global_setup", Shape::kString, "global_setup = \"#include <vector>\"",
     "C++ at namespace scope, such as #include lines, for this benchmark."},
    {"stmt", Shape::kString, "stmt = \"auto y = torch::mm(x, w);\"",
     "The C++ statement that is measured."},
    {"stmts", Shape::kStringsTable, "[benchmark.stmts]",
     "Many statements with one setup, a benchmark each: name = statement (label/name) or list of "
     "statements (label/name/0, label/name/1, ...)."},
    {"module", Shape::kString, "module = \"torch::nn::Linear(4, 2)\"",
     "C++ expression that makes a torch::nn module. Without a statement, a call of it with the "
     "signature's arguments is measured."},
    {"modules", Shape::kStringTable, "[benchmark.modules]",
     "Many modules with one setup, a benchmark each: name = expression, as module (label/name)."},
    {"py_setup", Shape::kString, "py_setup = \"x = torch.rand((4, 4))\"",
     "Python that runs before the measurement and declares what the statement uses."},
    {"py_global_setup", Shape::kString, "py_global_setup = \"import math\"",
     "Python at module level, such as imports, for this benchmark."},
    {"py_stmt", Shape::kString, "py_stmt = \"y = torch.mm(x, w)\"",
     "The Python statement that is measured."},
    {"py_stmts", Shape::kStringsTable, "[benchmark.py_stmts]",
     "Many Python statements with one setup, as stmts."},
    {"py_module", Shape::kString, "py_module = \"torch.nn.Linear(4, 2)\"",
     "Python expression that makes a torch.nn module. Without a statement, a call of it with the "
     "signature's arguments is measured."},
    {"py_modules", Shape::kStringTable, "[benchmark.py_modules]",
     "Many modules with one setup, a benchmark each: name = expression, as py_module "
     "(label/name)."},
    {"torchscript", Shape::kStringOrTrue, "torchscript = \"y = torch.mm(x, w)\"",
     "Body of a TorchScript forward over the signature's arguments, which assigns the signature's "
     "output; or true: the Python statement, or a C++ module without one, traced. With it, the "
     "benchmark is also measured as TorchScript."},
    {"package", Shape::kString, "package = \"mm.pt2\"",
     "Path of an AOTInductor package of the same computation, relative to this file. Runs if "
     "--backend includes aoti."},
    {"signature", Shape::kString, "signature = \"f(x, w) -> y\"",
     "Arguments, taken from the setup, and name of the output: \"f(x, w) -> y\"."},
    {"command", Shape::kStringList, "command = [\"build/server\", \"--check\"]",
     "A program that is counted from start to end instead of a statement: its name, looked up on "
     "PATH unless it has a slash, and its arguments. It runs in the folder of this file."},
    {"import", Shape::kString, "import = \"mine\"",
     "A Python module whose import is counted instead of a statement, in a bare interpreter, with "
     "the cost of each module that it imports. The folder of this file is on its sys.path."},
    {"google_benchmark", Shape::kBoolean, "google_benchmark = true",
     "The command is a program of Google Benchmark: each of its benchmarks is counted, per "
     "iteration, and has the key LABEL/BENCHMARK."},
    {"environment", Shape::kStringTable, "environment = { LD_LIBRARY_PATH = \"build\" }",
     "Variables of the command's environment, besides the pinned ones."},
    {"stdin", Shape::kString, "stdin = \"input.txt\"",
     "The file that is the command's standard input, relative to this file; empty if absent."},
    {.name = "exit_status",
     .shape = Shape::kInteger,
     .example = "exit_status = 1",
     .description = "The command's expected exit status, 0 if absent; any other is a failure.",
     .range = {0, 255}},
    {"children", Shape::kBoolean, "children = true",
     "Also count the processes that the command starts."},
    {"autograd", Shape::kBoolean, "autograd = true",
     "Also measure the statement followed by backward()."},
    {.name = "reduce",
     .shape = Shape::kString,
     .example = "reduce = \"sum\"",
     .description = "The member function that makes a scalar of the output before backward().",
     .words = known_reductions},
    {"optimizer", Shape::kString, "optimizer = \"torch.optim.SGD(params, lr=0.01)\"",
     "Python expression that makes an optimizer of `params`, the parameters of the module. With "
     "it, "
     "an iteration with backward begins with zero_grad() and ends with step()."},
    {"compiles", Shape::kBoolean, "compiles = true",
     "The Python statement compiles, by torch.compile() or torch.export: one run of it is counted, "
     "after one that is not, each with nothing compiled before. Adds compile_instructions."},
    {"explicit", Shape::kBoolean, "explicit = true",
     "Measure the statement exactly as written: eager and forward only, no parameters."},
    {.name = "threads",
     .shape = Shape::kIntegers,
     .example = "threads = [1, 2]",
     .description = "Numbers of threads to measure with; 1 if absent.",
     .range = {1, kMaxThreads}},
    {.name = "device",
     .shape = Shape::kStrings,
     .example = "device = [\"cpu\"]",
     .description = "Devices to measure on; \"cpu\" if absent.",
     .words = known_devices},
    {"matrix", Shape::kMatrix, "matrix = { n = [4, 64] }",
     "Parameters: name = list of values. One benchmark per combination; {name} in any text is "
     "replaced by the value."},
    {"libtorch", Shape::kString, "libtorch = \">=2.0\"",
     "Versions of LibTorch that this benchmark is for: \">=2.0\", \">=1.13, !=2.1\". It is skipped "
     "on others."},
    {"python", Shape::kStrings, "python = [\"timm>=1.0\"]",
     "Packages that its Python imports, with versions if it needs certain ones: \"timm\", "
     "\"timm>=1.0, <2\". It is skipped without them."},
    {.name = "limit",
     .shape = Shape::kTable,
     .example = "limit = { instructions = \"0.5%\" }",
     .description = "How far each metric may change before a comparison fails: \"0.5%\", \"+100\" "
                    "(units per iteration), \"0.5%|+100\" (either), or \"none\".",
     .members = limit_keys},
    {.name = "tolerance",
     .shape = Shape::kTable,
     .example = "tolerance = { rtol = 1e-3, atol = 1e-5 }",
     .description = "How far the results of another backend may differ from eager's, for --verify; "
                    "the defaults are torch.testing's for the data type.",
     .members = tolerance_keys},
    {"cosine", Shape::kNumber, "cosine = 0.99",
     "Instead of a tolerance: the minimum cosine similarity of the two."},
    {"rmse", Shape::kNumber, "rmse = 1e-3",
     "Instead of a tolerance: both its rtol and its atol, and a root mean square error against a "
     "float64 reference of at most 2 or 3 times eager's, as torch._dynamo.utils.same decides."},
    {"tags", Shape::kStrings, "tags = [\"slow\"]", "Words for selecting benchmarks."},
    {"timed", Shape::kBoolean, "timed = true",
     "Too large to be counted: it is only timed, with --metrics=wall, and skipped without."},
    {.name = "warmup",
     .shape = Shape::kInteger,
     .example = "warmup = 10",
     .description = "Iterations before the first counted block; chosen automatically if absent. 0: "
                    "the first call in a process is counted.",
     .range = {0, kMaxIterations}},
    {.name = "iterations",
     .shape = Shape::kInteger,
     .example = "iterations = 100",
     .description = "Iterations of a counted block; chosen automatically if absent.",
     .range = {1, kMaxIterations}},
    {"timeout", Shape::kNumber, "timeout = 60",
     "Seconds of CPU time that measuring one variant may take; it is also stopped when it is idle "
     "for as long."},
};

constexpr Key kBuildKeys[] = {
    {"include_dirs", Shape::kStringList, "include_dirs = [\"../include\"]",
     "Folders for #include."},
    {"sources", Shape::kStringList, "sources = [\"my_ops.cpp\"]",
     "C++ files that are compiled once and loaded before the snippets, for example to register "
     "operators. `*` matches a part of a name, `**` any folders."},
    {"libraries", Shape::kStringList, "libraries = [\"myops\"]",
     "Libraries to link, without \"lib\" and extension."},
    {"library_dirs", Shape::kStringList, "library_dirs = [\"../build\"]",
     "Folders that contain the libraries."},
    {"defines", Shape::kDefineTable, "defines = { FAST = \"1\" }", "Macros: name = value."},
    {"flags", Shape::kStringList, "flags = [\"-march=haswell\"]",
     "Further flags for the compiler, which also links with them."},
};

constexpr Key kBackendKeys[] = {
    {.name = "name",
     .shape = Shape::kString,
     .example = "name = \"mine\"",
     .description = "The name in options and keys. Without a function in `import`, the name by "
                    "which torch.compile() knows the backend.",
     .is_required = true},
    {"import", Shape::kString, "import = \"my_package.my_module\"",
     "A Python module that registers the backend, or with a function that is the backend: "
     "\"my_module:my_backend\"."},
    {"options", Shape::kTable, "options = { epilogue_fusion = false }",
     "The argument `options` of torch.compile()."},
    {"mode", Shape::kString, "mode = \"max-autotune\"", "The argument `mode` of torch.compile()."},
    {"fullgraph", Shape::kBoolean, "fullgraph = true",
     "The argument `fullgraph` of torch.compile(): a graph break is an error."},
};

constexpr Key kSettingKeys[] = {
    {.name = "name",
     .shape = Shape::kString,
     .example = "name = \"freezing\"",
     .description = "The name in options, keys and tables.",
     .is_required = true},
    {"environment", Shape::kStringTable, "environment = { XLA_FLAGS = \"--xla_cpu_use_fusion\" }",
     "Variables of the environment, for what reads them after torch is imported."},
    {"inductor", Shape::kTable, "inductor = { freezing = true }",
     "Values of torch._inductor.config."},
    {"dynamo", Shape::kTable, "dynamo = { cache_size_limit = 64 }",
     "Values of torch._dynamo.config."},
    {"functorch", Shape::kTable, "functorch = { functionalize_rng_ops = true }",
     "Values of torch._functorch.config."},
    {"torch", Shape::kString, "torch = \"torch.set_float32_matmul_precision('high')\"",
     "Python that runs before the setups, with torch imported."},
};

constexpr Key kToleranceKeys[] = {
    {"rtol", Shape::kNumber, "tolerance = { rtol = 1e-3 }", "Relative to eager's value."},
    {"atol", Shape::kNumber, "tolerance = { atol = 1e-5 }", "In addition to the relative one."},
};

}  // namespace

Keys file_keys() { return kFileKeys; }
Keys setup_keys() { return kSetupKeys; }
Keys benchmark_keys() { return kBenchmarkKeys; }
Keys build_keys() { return kBuildKeys; }
Keys backend_keys() { return kBackendKeys; }
Keys setting_keys() { return kSettingKeys; }

Keys limit_keys() {
  static std::deque<std::string> texts;  // views of a deque's elements stay valid
  static const std::vector<Key> kKeys = [] {
    std::vector<Key> keys;
    for (const Metric& metric : kMetrics) {
      const auto& example = texts.emplace_back(
          fmt::format("limit = {{ {} = \"{}\" }}", metric.name, metric.example_limit));
      const auto& description = texts.emplace_back(fmt::format("Limit of {}.", metric.what));
      for (const char* name : {metric.name, metric.alias}) {
        if (name != nullptr) keys.push_back({name, Shape::kString, example, description});
      }
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

namespace json_schema {
namespace {

using Json = nlohmann::ordered_json;

// `types`: the name of a type, or a list of them.
Json of_type(Json types) { return {{"type", std::move(types)}}; }

Json any_of(Json first, Json second) {
  return {{"anyOf", Json::array({std::move(first), std::move(second)})}};
}

Json list_of(Json element) { return {{"type", "array"}, {"items", std::move(element)}}; }

// An object whose members may have any name.
Json table_of(Json member) {
  return {{"type", "object"}, {"additionalProperties", std::move(member)}};
}

Json described(std::string_view description, const Json& schema) {
  Json all = {{"description", description}};
  all.update(schema);
  return all;
}

Json document(std::string_view title, std::string_view description, const Json& schema) {
  Json all = {{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", title}};
  all.update(described(description, schema));
  return all;
}

Json string_schema(const Key& key) {
  Json schema = of_type("string");
  if (key.words != nullptr) schema["enum"] = key.words();
  return schema;
}

Json integer_schema(const Key& key) {
  Json schema = of_type("integer");
  if (key.range != Range{}) {
    schema["minimum"] = key.range.min;
    schema["maximum"] = key.range.max;
  }
  return schema;
}

Json table_schema(Keys keys);

Json members_schema(const Key& key) {
  return key.members != nullptr ? table_schema(key.members()) : of_type("object");
}

Json one_or_list_of(const Json& schema) { return any_of(schema, list_of(schema)); }

Json value_schema(const Key& key) {
  switch (key.shape) {
    case Shape::kString: return string_schema(key);
    case Shape::kStrings: return one_or_list_of(string_schema(key));
    case Shape::kStringList: return list_of(string_schema(key));
    case Shape::kInteger: return integer_schema(key);
    case Shape::kIntegers: return one_or_list_of(integer_schema(key));
    case Shape::kNumber: return of_type("number");
    case Shape::kBoolean: return of_type("boolean");
    case Shape::kStringOrTrue: return any_of(string_schema(key), {{"const", true}});
    case Shape::kTable: return members_schema(key);
    case Shape::kTables: return list_of(members_schema(key));
    case Shape::kNamedTables: return table_of(members_schema(key));
    case Shape::kStringTable: return table_of(string_schema(key));
    case Shape::kStringsTable: return table_of(one_or_list_of(string_schema(key)));
    case Shape::kDefineTable: return table_of(of_type({"string", "integer"}));
    case Shape::kMatrix: return table_of(one_or_list_of(of_type({"string", "number", "boolean"})));
  }
  return {};
}

Json table_schema(Keys keys) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const Key& key : keys) {
    const std::string name(key.name);
    properties[name] = described(key.description, value_schema(key));
    if (key.is_required) required.push_back(name);
  }
  return {{"type", "object"},
          {"required", std::move(required)},
          {"properties", std::move(properties)},
          {"additionalProperties", false}};
}

}  // namespace
}  // namespace json_schema

nlohmann::ordered_json definition_schema() {
  return json_schema::document("instr_bench definitions",
                               "Benchmarks for instr_bench: statements with their setups and "
                               "parameters. See docs/DEFINITIONS.md.",
                               json_schema::table_schema(file_keys()));
}

}  // namespace instr
