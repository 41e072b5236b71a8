// A definition at one point of parameters x backend x autograd x threads x device: the unit of
// measurement.
#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/definitions/backends.h"
#include "core/definitions/snippet.h"

namespace instr {

enum class Autograd {
  kForward,
  kForwardBackward,
  kForwardBackwardEval,  // forward and backward of a module in evaluation mode
};

// The names in options and keys, in the order of Autograd.
inline constexpr auto kAutogradNames =
    std::to_array<const char*>({"forward", "forward_backward", "forward_backward_eval"});

constexpr const char* to_string(Autograd autograd) {
  return kAutogradNames[static_cast<std::size_t>(autograd)];
}

// Returns kForward for an unknown name.
Autograd parse_autograd(std::string_view name);

// The paths of a package that this program made, as a worker sees them: compiled for the processor
// that counts are pinned to, and for this one. Equal if only one is needed.
struct MadePackage {
  std::string counted;
  std::string native;
};

// The tests of a run of pytest, which a worker collects again.
struct TestSuite {
  std::filesystem::path file;  // the list that `pytest --instr` wrote
  std::filesystem::path root;  // pytest's root folder
};

struct Variant : Snippet {
  std::string key;  // "matmul/mm/n=64/eager/forward/t1/cpu": identifies it in the whole program
  std::vector<std::pair<std::string, std::string>> params;
  Backend backend = Backend::kEager;
  Autograd autograd = Autograd::kForward;
  int threads = 1;
  std::string device = "cpu";
  std::shared_ptr<const Setting> setting = {};  // null: nothing is set; of Python only
  // The Python whose AOTInductor package the variant runs; null: `package`, or no package.
  std::shared_ptr<const Variant> exported = {};
  MadePackage made_package = {};                // known once compiled
  std::shared_ptr<const TestSuite> tests = {};  // null: this is not a test
  std::string test = {};                        // pytest's name of the test
};

bool is_on_cuda(const Variant& variant);

// Returns true for the import of a Python module.
bool is_import(const Variant& variant);

// Returns true if all of them are programs.
bool is_only_programs(const std::vector<Variant>& variants);

// Returns true if an iteration includes backward.
bool is_differentiated(const Variant& variant);

// Returns true if the first call in a process is counted.
bool is_first_call(const Snippet& snippet);

// Returns true if the Python compiles, or names torch.compile(), a part of it, or another part of
// torch that is as slow to import. It runs in a process that has imported the compiler, and sees a
// pinned clock, and its setup is not instrumented.
bool uses_compiler(const Snippet& snippet);

// Returns true if the variant runs in that process, as its Python or its backend compiles, or loads
// a package by a part of the compiler.
bool needs_compiler(const Variant& variant);

// Returns true if a single iteration is counted.
bool is_counted_once(const Snippet& snippet);

// Parses LABEL/PARAMETER=VALUE/.../[py/]BACKEND/AUTOGRAD/tTHREADS/DEVICE; values must not contain
// slashes. A key of another form gives a variant with a key and a label only.
Variant parse_key(const std::string& key);

// A variant's name in tables, which people also type to select it. Contains only printable text.
struct VariantName {
  std::string group;   // "matmul": the heading above rows with a common first part
  std::string row;     // "mm n=4 t2 cuda": the row below it
  std::string full;    // "matmul/mm n=4 t2 cuda": a row without a heading
  std::string column;  // "eager fwd+bwd"
};

VariantName name_variant(const Variant& variant);

// "eager", "eager fwd+bwd", "TorchScript", "Python", "Python TorchScript", ...
std::string format_column_name(Language language, Backend backend, Autograd autograd);

}  // namespace instr
