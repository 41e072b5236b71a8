// The part of a benchmark that stays the same whichever way it is run.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/definitions/backends.h"

namespace instr {

// A piece of code and the place of its first character, for #line and messages.
struct Text {
  std::string code;
  SourceLocation where;

  bool empty() const { return code.empty(); }
};

// A value of one of torch's configurations.
struct ConfigValue {
  std::string group;  // "inductor": torch._inductor.config
  std::string name;   // "triton.cudagraphs"
  std::string value;  // Python source
  SourceLocation where;
};

// A [[setting]] table: what is set in the process before anything is measured there.
struct Setting {
  std::string name;
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<ConfigValue> config;
  std::optional<Text> torch;  // Python
  SourceLocation where;
};

// "f(x, w) -> y"
struct Signature {
  std::vector<std::string> arguments;
  std::string output;
  SourceLocation where;
};

// The file's [build] table: users' own code. Paths are absolute.
struct BuildOptions {
  // The top folder of the repository that the file is in, else the file's folder: in working trees
  // of one repository, code below it is known by its place in it.
  std::filesystem::path root = {};
  std::vector<std::filesystem::path> include_dirs;
  std::vector<std::filesystem::path> sources;
  std::vector<std::string> libraries;
  std::vector<std::filesystem::path> library_dirs;
  std::vector<std::pair<std::string, std::string>> defines;
  std::vector<std::string> flags;
  SourceLocation where;
};

// How far the results of another backend may differ from eager's. All absent: the usual tolerance
// for the data type.
struct Tolerance {
  std::optional<double> relative;
  std::optional<double> absolute;
  std::optional<double> cosine;  // instead of both: the minimum cosine similarity
  // Instead of all three, as in PyTorch's own benchmark runner: relative and absolute tolerance,
  // and a limit for the root mean square error against a float64 reference.
  std::optional<double> rmse = {};

  bool operator==(const Tolerance&) const = default;
};

// Variants that cannot run, as others say: by device, and by whether they are differentiated.
struct SkippedTest {
  std::string test;    // "eval", "train"; empty: both
  std::string device;  // empty: any
  std::string reason;
};

// The way in which a program is counted.
enum class ProgramKind {
  kWhole,            // the run from its start to its end
  kGoogleBenchmark,  // one benchmark of a program of Google Benchmark, per iteration
  kImport,           // the import of a Python module in a bare interpreter
};

// A program that is counted instead of a statement. It runs in `folder` with a pinned environment.
struct Program {
  ProgramKind kind = ProgramKind::kWhole;
  // The program, on PATH unless it has a slash, and its arguments; or the module alone.
  std::vector<std::string> command;
  std::filesystem::path folder;
  std::vector<std::pair<std::string, std::string>> environment = {};  // besides the pinned ones
  std::optional<std::filesystem::path> standard_input = {};           // absolute; absent: empty
  int exit_status = 0;                                                // any other is a failure
  bool has_children = false;   // processes that it starts count, too
  std::string benchmark = {};  // the name of Google Benchmark's benchmark
};

// In a GroupedBenchmark, texts may contain parameters such as "{n}"; in a Variant they are final.
struct Snippet {
  std::string label;
  Language language = Language::kCpp;
  std::string description;
  SourceLocation where;             // the [[benchmark]] table
  std::vector<Text> global_setups;  // code at namespace scope, or at module level of Python
  std::vector<Text> setups;         // named setups of `use` in their order, then `setup`
  std::optional<Text> stmt;         // absent if `module` makes the statement
  std::optional<Text> torchscript;  // body of forward
  std::optional<Text> module;       // expression that makes a torch::nn module
  std::optional<Text> package;      // absolute path of an AOTInductor package
  std::optional<Text> optimizer;    // Python expression that makes one for `params`; in training
  std::optional<Signature> signature;
  std::optional<std::string> reduce;          // method that makes the output a scalar: "sum"
  bool is_explicit = false;                   // exactly as written, never expanded
  std::optional<std::string> libtorch;        // ">=2.0"
  std::vector<std::string> packages;          // imported by its Python: "timm>=1.0"
  std::map<std::string, std::string> limits;  // metric -> "0.5%"
  Tolerance tolerance;
  std::vector<SkippedTest> skipped_tests;
  std::vector<std::string> tags;
  bool is_only_timed = false;                 // too large to be counted
  std::optional<int> warmup;                  // iterations; 0: the first call is counted
  bool compiles = false;                      // the statement compiles: it is counted once
  std::optional<int> iterations;              // iterations of a block
  std::optional<double> timeout;              // CPU seconds
  std::shared_ptr<const BuildOptions> build;  // null if the file has none
  std::shared_ptr<const Program> program;     // null: statements are counted
};

// Reads a benchmark's signature: "f(x, w) -> y".

// Parses NAME(ARGUMENT, ...) -> OUTPUT; spaces are optional, the argument list may be empty. The
// error is at the first wrong character.
Expected<Signature> parse_signature(const Text& text);

// Returns the name of an optimizer's class: "SGD" of "torch.optim.SGD(params, lr=0.01)". An error,
// without a place, if the text is not such a call.
Expected<std::string> find_optimizer_name(const std::string& code);

// Returns true for a valid name in both C++ and Python: letters, digits and _, no digit first.
bool is_identifier(std::string_view text);

}  // namespace instr
