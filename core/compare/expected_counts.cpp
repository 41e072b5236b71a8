#include "core/compare/expected_counts.h"

#include <charconv>

#include "core/compare/expected_document.h"

namespace instr {
namespace {

namespace fs = std::filesystem;

ExpectedCounts counts_of(const ExpectedDocument& document) {
  ExpectedCounts expected;
  auto& measurements = expected.baseline.measurements;
  std::map<std::string, std::size_t> places;
  for (const ExpectedCount& count : document.counts) {
    const auto [place, is_new] = places.emplace(count.key, measurements.size());
    Limits& limits = expected.limits[count.key];
    if (is_new) {
      Measurement& made = measurements.emplace_back();
      made.variant = variant_of_key(count.key);
      made.outcome = Counted{};
      std::get<Counted>(made.outcome).steady = true;
      for (const std::string& metric : limit_metrics())
        limits.hard[metric] = limits.soft[metric] = {};
    }
    auto& counted = std::get<Counted>(measurements[place->second].outcome);
    counted.metrics[count.metric] = count.value;
    if (count.metric == kInstructions)
      counted.first_block_ir = counted.second_block_ir = count.value;
    limits.hard.erase(count.metric);
    if (count.margin) {
      limits.hard[count.metric] = *count.margin;
    } else {
      limits.soft.erase(count.metric);
    }
  }
  return expected;
}

}  // namespace

bool is_csv(const SourceText& source) { return fs::path(source.path()).extension() == ".csv"; }

tl::expected<ExpectedDocument, Errors> parse_expected_document(const SourceText& source) {
  if (is_csv(source)) return parse_expected_csv(source);
  if (fs::path(source.path()).extension() == ".toml") return parse_expected_toml(source);
  return tl::unexpected(Errors{{source.at(0, 0), "expected counts are in a CSV or a TOML file",
                                "give the file a name that ends in .csv or .toml"}});
}

tl::expected<ExpectedCounts, Errors> parse_expected_counts(const SourceText& source) {
  const auto document = parse_expected_document(source);
  if (!document) return tl::unexpected(document.error());
  if (!document->counts.empty()) return counts_of(*document);
  return tl::unexpected(Errors{{source.at(0, 0), "there is no expected count in this file",
                                "--update-expected writes those that are measured"}});
}

tl::expected<ExpectedCounts, Errors> read_expected_counts(const fs::path& file) {
  const auto source = SourceText::read(file);
  if (!source) return tl::unexpected(Errors{source.error()});
  return parse_expected_counts(*source);
}

}  // namespace instr
