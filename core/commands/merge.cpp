#include "core/run/merge.h"

#include <fmt/format.h>

#include "core/base/format.h"
#include "core/base/output.h"
#include "core/commands/commands.h"

namespace instr {

namespace {

Expected<void> write_all(const ResultSet& whole, ResultsTarget target) {
  auto writer = ResultsWriter::create(std::move(target), whole.results.header);
  if (!writer) return tl::unexpected(writer.error());
  for (Measurement one : whole.results.measurements) {
    if (auto* counted = std::get_if<Counted>(&one.outcome)) {
      auto functions = whole.functions(one.variant.key);
      if (!functions) return tl::unexpected(functions.error());
      counted->functions = std::move(*functions);
    }
    if (auto written = writer->append(one); !written) return written;
  }
  return writer->finish(whole.results.is_complete);
}

}  // namespace

ExitStatus merge_command(const Options& options) {
  if (!options.output) {
    return refuse({{}, "merge needs a file to write", "add --output=FILE"});
  }
  auto target = ResultsTarget::open(*options.output);
  if (!target) return refuse(target.error());
  std::vector<ResultSet> parts;
  for (const std::string& file : options.operands) {
    auto part = read_result_set(file, file, options.gate.incomplete);
    if (!part) return refuse(part.error());
    parts.push_back(std::move(*part));
  }
  auto whole = merge(std::move(parts), options.gate);
  if (!whole) return refuse(whole.error());
  auto written = write_all(*whole, std::move(*target));
  if (!written) return refuse(written.error());
  print_message(fmt::format("{}: {} of {}{}\n", options.output->string(),
                            format_plural(whole->results.measurements.size(), "benchmark"),
                            format_plural(options.operands.size(), "file"),
                            whole->results.is_complete ? "" : ", incomplete"));
  return kGood;
}

}  // namespace instr
