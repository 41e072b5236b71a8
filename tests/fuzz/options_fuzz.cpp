// The command line: one word per line, for all groups of options that commands share.
#include <vector>

#include "core/cli/gating.h"
#include "core/cli/help.h"
#include "core/cli/measuring.h"
#include "core/cli/selecting.h"
#include "core/cli/showing.h"
#include "tests/fuzz/fuzz.h"

namespace instr {
namespace {

void fuzz(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    // A word of a real command line ends at a zero byte.
    words.emplace_back(std::string(text.substr(begin, end - begin)).c_str());
    begin = end + 1;
  }
  PlanConfig plan;
  MeasureConfig measure;
  GateOptions gate;
  Showing showing;
  ReportFormat format = ReportFormat::kTable;
  std::vector<std::string> metrics;
  std::vector<std::string> operands;
  std::vector<std::string> rest;
  bool show_same = false;
  CommandLine line("run");
  line.operands({"FILE...", 0, 3}, operands);
  line.rest("COMMAND...", rest);
  declare_plan(line, plan);
  declare_shard(line, plan.selection);
  declare_tools(line, measure.tools);
  declare_build(line, plan.build);
  declare_counting(line, measure);
  declare_timing(line, measure);
  declare_metrics(line, metrics);
  declare_gate(line, gate, show_same);
  declare_format(line, format);
  declare_showing(line, showing);
  const auto parsed = line.parse(words);
  if (!parsed) require_words(parsed.error());
}

}  // namespace
}  // namespace instr

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  instr::fuzz(instr::text_of(data, size));
  return 0;
}
