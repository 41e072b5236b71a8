#include "core/run/past_durations.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "core/base/read_file.h"
#include "core/base/replace_file.h"

namespace instr {

namespace {

constexpr std::size_t kMaxCostBytes = 32'000'000;
constexpr std::size_t kMaxCostKeys = 100'000;  // most of a larger number are obsolete
constexpr double kMaxSeconds = 1e6;

std::string make_name(const std::string& key, Work work) {
  switch (work) {
    case Work::kCount: return "count " + key;
    case Work::kTime: return "time " + key;
    case Work::kVerify: return "verify " + key;
  }
  return key;
}

}  // namespace

Work find_work(const Measurement& measurement) {
  const auto* counted = std::get_if<Counted>(&measurement.outcome);
  if (counted != nullptr && counted->timing) return Work::kTime;
  return measurement.verification ? Work::kVerify : Work::kCount;
}

// A line: "0.041 count matmul/mm/n=4/eager/forward/t1/cpu".
Costs Costs::read(const std::filesystem::path& file) {
  Costs costs;
  auto text = read_file(file, kMaxCostBytes);
  if (!text) return costs;
  for (std::string_view rest = *text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    double seconds = 0;
    auto [stopped, error] = std::from_chars(line.data(), line.data() + line.size(), seconds);
    const auto digits = static_cast<std::size_t>(stopped - line.data());
    if (error != std::errc() || digits + 1 >= line.size() || line[digits] != ' ') continue;
    if (!(seconds >= 0 && seconds <= kMaxSeconds)) continue;
    auto [known, is_new] = costs.seconds_.emplace(line.substr(digits + 1), seconds);
    if (is_new) costs.sum_ += seconds;
  }
  return costs;
}

void Costs::learn(const Measurement& measurement) {
  if (std::holds_alternative<Skipped>(measurement.outcome)) return;
  double& seconds = seconds_[make_name(measurement.variant.key, find_work(measurement))];
  sum_ += measurement.seconds - seconds;
  seconds = measurement.seconds;
}

double Costs::of(const std::string& key, Work work) const {
  const auto known = seconds_.find(make_name(key, work));
  if (known != seconds_.end()) return known->second;
  return seconds_.empty() ? 1 : sum_ / static_cast<double>(seconds_.size());
}

void Costs::write(const std::filesystem::path& file) const {
  if (seconds_.size() > kMaxCostKeys) return;
  std::string text;
  for (const auto& [name, seconds] : seconds_) {
    if (name.find('\n') == name.npos) text += fmt::format("{:.4f} {}\n", seconds, name);
  }
  (void)replace_file(file, text);
}

}  // namespace instr
