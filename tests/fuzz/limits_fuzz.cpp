// Limits: one, those of a command line, and the limits file.
#include "core/compare/limits_file.h"
#include "tests/fuzz/fuzz.h"

namespace instr {
namespace {

void require_sense(const Limit& limit) {
  for (const double baseline : {0.0, 12345.5, 1e300}) {
    require(allowance(limit, baseline) >= 0, "a limit allows something, or nothing");
  }
}

void require_sense(const std::map<std::string, Limit>& limits) {
  for (const auto& [metric, limit] : limits) {
    require(!metric.empty(), "a limit is of a metric");
    require_sense(limit);
  }
}

void fuzz(std::string_view text) {
  if (const auto limit = parse_limit(text)) {
    require_sense(*limit);
  } else {
    require_words(limit.error());
  }
  if (const auto limits = parse_limits(text)) {
    require_sense(*limits);
  } else {
    require_words(limits.error());
  }
  const auto source = SourceText::checked("l.toml", std::string(text));
  if (!source) return require_words(source.error());
  const auto file = parse_limits_file(*source);
  if (!file) return require_words(file.error());
  require(!file->empty(), "a file of limits has one");
  const auto resolved = resolve_limits(*file, {"matmul/mm/n=64/eager/forward/t1/cpu", "größe\n"});
  for (const auto& [key, limits] : resolved.by_key) {
    require_sense(limits.hard);
    require_sense(limits.soft);
  }
}

}  // namespace
}  // namespace instr

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  instr::fuzz(instr::text_of(data, size));
  return 0;
}
