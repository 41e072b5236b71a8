// The files that --dump writes for a variant: graphs, generated code, the operators' times as a
// table and as a trace.
#pragma once

#include <array>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/definitions/variant.h"
#include "core/results/timing.h"

namespace instr {

namespace wire {
struct Message;
}

enum class DumpPart { kGraph, kCode, kBreaks, kProfile, kTrace, kXla };

struct DumpPartFacts {
  DumpPart part;
  const char* name;
  const char* what;       // shown by --help
  const char* logs = "";  // logs of a compiler of whole functions that form the part
};

inline constexpr auto kDumpParts = std::to_array<DumpPartFacts>(
    {{DumpPart::kGraph, "graph", "before and after optimizing",
      "graph_code aot_graphs ir hlo stablehlo"},
     {DumpPart::kCode, "code", "that Inductor wrote", "output_code"},
     {DumpPart::kBreaks, "breaks", "graph breaks and recompilations", "graph_breaks recompiles"},
     {DumpPart::kProfile, "profile", "times by operator"},
     {DumpPart::kTrace, "trace", "for Perfetto"},
     {DumpPart::kXla, "xla", "PyTorch/XLA's metrics report", "xla_metrics"}});

using DumpParts = std::set<DumpPart>;

inline constexpr int kMaxDumpRepetitions = 10;  // more would not fit into a reply

// Returns the logs of these parts, as words.
std::string compiler_logs(const DumpParts& parts);

// Parses the worker's lines of events (worker/wire.h), and orders them by start; other lines are
// ignored.
std::vector<OperatorCall> parse_calls(std::string_view lines);

// Returns an aligned table of "operator  calls  self  share  total".
std::string operator_table(const std::vector<OperatorTime>& times);

// Returns JSON that chrome://tracing and Perfetto open.
std::string chrome_trace(const std::vector<OperatorCall>& calls, const std::string& title);

// Writes the requested parts of the worker's reply to `inspect` into that folder: graph.before.txt,
// graph.after.txt and counters.txt (of compiled code), ir.txt, hlo.txt and stablehlo.mlir
// (of XLA), code.txt, breaks.txt, profile.txt, trace.json, xla_metrics.txt. If several iterations
// were profiled, the last three are also in the folders 1, 2, ….
Expected<void> write_dump(const std::filesystem::path& folder, const DumpParts& parts,
                          const Variant& variant, const wire::Message& inspected);

}  // namespace instr
