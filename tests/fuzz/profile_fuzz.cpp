// Fuzzes Callgrind's output.
#include "core/profile/profile.h"
#include "tests/fuzz/fuzz.h"

namespace instr {
namespace {

void read(std::string_view text, ProfilePaths paths) {
  const auto profile = parse_profile(text, "callgrind.out", paths, ProfileLines::kRead);
  if (!profile) return require_words(profile.error());
  require(!profile->events.empty(), "a profile has an event");
  require(profile->totals.size() == profile->events.size(), "each event has a total");
  for (const ProfileFunction& function : profile->functions) {
    require(function.self.size() == profile->events.size(), "each function has each event");
  }
  const LineCosts costs = line_costs(*profile, 1);
  require(costs.lines.size() <= profile->lines.size(), "lines are merged by their places");
}

void fuzz(std::string_view text) {
  read(text, ProfilePaths::kMerged);
  read(text, ProfilePaths::kSeparate);
}

}  // namespace
}  // namespace instr

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  instr::fuzz(instr::text_of(data, size));
  return 0;
}
