// What a compiler of whole functions (torch.compile()) said of its work.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace instr {

// Why it did something at a place in the code.
struct CompilerNote {
  std::string place;  // "layers.toml:12:3", or of a library; empty: not known
  std::string reason;
  std::uint64_t count = 1;  // times

  bool operator==(const CompilerNote&) const = default;
};

struct CompilerReport {
  std::vector<CompilerNote> graph_breaks = {};    // why there is more than one graph
  std::vector<CompilerNote> recompilations = {};  // which guard failed
  // Operators that it left to LibTorch, by name, and how many or how often.
  std::map<std::string, std::uint64_t> unlowered = {};
  // All of its counters, by group and name.
  std::map<std::string, std::map<std::string, double>> counters = {};

  bool operator==(const CompilerReport&) const = default;
};

}  // namespace instr
