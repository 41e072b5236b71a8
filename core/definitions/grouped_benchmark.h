// A benchmark as written: a [[benchmark]] table of TOML.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/definitions/snippet.h"

namespace instr {

// Shapes of tensors that a compiler may assume; the first unless others are requested.
inline constexpr const char* kShapes[] = {"static", "dynamic"};

// Layouts of images and of the modules that take them; the first unless others are requested.
inline constexpr const char* kMemoryFormats[] = {"contiguous", "channels_last"};

// The parameter in keys of variants that count a compile; those that count calls lack it.
inline constexpr std::pair<const char*, const char*> kColdCompile{"compile", "cold"};

// A statement, with the suffix that it adds to the benchmark's label.
struct Statement {
  Language language = Language::kCpp;
  std::string suffix = {};
  std::optional<Text> text = {};    // absent if the module makes the statement
  std::optional<Text> module = {};  // one of many; absent: the benchmark's
};

// The code that the statements in one language share.
struct SharedCode {
  std::vector<Text> global_setups;
  std::vector<Text> setups;
  std::optional<Text> module;
};

// Setups and statements in C++ and Python with all that they share: signature, TorchScript,
// autograd, parameters. expand() makes variants of it. The snippet's own code and language are
// those of no statement.
struct GroupedBenchmark : Snippet {
  std::vector<Statement> statements;
  // The element at a language's number is the code in that language.
  std::array<SharedCode, kLanguages.size()> shared;
  bool autograd = false;
  bool has_train_eval = false;  // modules also run forward and backward in evaluation mode
  std::vector<int> threads{1};
  std::vector<std::string> devices{"cpu"};
  std::vector<std::string> shapes{"static"};                      // elements of kShapes
  std::vector<std::shared_ptr<const Setting>> settings{nullptr};  // null: the default one
  std::vector<std::string> memory_formats{"contiguous"};          // elements of kMemoryFormats
  std::optional<double> rmse_of_training_on_cuda;                 // absent: the tolerance's
  // Only compiling is counted (ExperimentAxes::only_compiling). A statement that `compiles` does
  // not need this.
  bool only_compiling = false;
  bool names_devices = false;  // "{device}" in its texts is the variant's device
  // Parameter name and its values as text, in the order written.
  std::vector<std::pair<std::string, std::vector<std::string>>> matrix;

  SharedCode& in(Language which) { return shared[static_cast<std::size_t>(which)]; }
  const SharedCode& in(Language which) const { return shared[static_cast<std::size_t>(which)]; }
};

}  // namespace instr
