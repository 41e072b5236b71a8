#include <fmt/format.h>

#include "core/base/format.h"
#include "core/base/output.h"
#include "core/commands/commands.h"
#include "core/results/result_set.h"
#include "core/run/merge_shards.h"

namespace instr {

namespace {

struct MergeArguments {
  std::vector<std::string> files;
  std::optional<fs::path> output;
  GateOptions gate;
  Showing showing;
};

Expected<void> write_merged(const ResultSet& whole, ResultsTarget target) {
  TRY_ASSIGN(auto writer, ResultsWriter::create(std::move(target), whole.results.header));
  for (const Measurement& measurement : whole.results.measurements) {
    TRY_ASSIGN(const auto with_profile, add_profile(whole, measurement));
    TRY(writer.append(with_profile));
  }
  return writer.finish(whole.results.is_complete, whole.results.header.strangers);
}

ExpectedStatus run_merge(const MergeArguments& options) {
  TRY_ASSIGN(auto target, ResultsTarget::open(*options.output));
  std::vector<ResultSet> parts;
  for (const std::string& file : options.files) {
    TRY_ASSIGN(auto part, read_result_set(file, file, options.gate.incomplete));
    parts.push_back(std::move(part));
  }
  TRY_ASSIGN(auto whole, merge(std::move(parts), options.gate));
  TRY(write_merged(whole, std::move(target)));
  print_message(fmt::format("{}: {} of {}{}\n", options.output->string(),
                            format_plural(whole.results.measurements.size(), "benchmark"),
                            format_plural(options.files.size(), "file"),
                            whole.results.is_complete ? "" : ", incomplete"));
  return kGood;
}

}  // namespace

Action merge_command(CommandLine& line) {
  auto options = std::make_shared<MergeArguments>();
  line.describe(
      "Merges the results of a run's shards (--shard=1/4 to --shard=4/4) into one file, the same "
      "as that of a run without shards. All shards must be there, complete, and measured alike.");
  line.operands({"FILE...", 1, kMaxOperands}, options->files);
  line.group("What to merge");
  line.option("-o,--output", "FILE", "write the merged results there", take_path(options->output));
  line.flag("--allow-missing", "some shards may be missing", options->gate.allow_missing_shards);
  declare_incomplete(line, options->gate.incomplete,
                     "nor all of what one was to measure; with either of these the merged file is "
                     "incomplete, too");
  declare_vary(line, options->gate.vary);
  declare_showing(line, options->showing);
  line.check([options = options.get()]() -> Expected<void> {
    if (options->output) return {};
    return fail("merge needs a file to write", "add --output=FILE");
  });
  return [options](const Invocation&) { return run_merge(*options); };
}

}  // namespace instr
