#include "core/definitions/limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/near_match.h"
#include "core/base/text.h"
#include "core/definitions/metrics.h"

namespace instr {
namespace {

constexpr const char* kAdvice =
    "write a percentage (`0.5%`), a number of units (`+100`), both (`0.5%|+100`), or `none`";

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto bar = text.find('|');
    parts.push_back(trim(text.substr(0, bar)));
    if (bar == std::string_view::npos) return parts;
    text.remove_prefix(bar + 1);
  }
}

// Parses a decimal number without a sign.
std::optional<double> parse_decimal(std::string_view text) {
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  const auto value = parse_number<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

Expected<void> add_part(std::string_view part, Limit& limit) {
  std::string_view digits = part;
  const bool plus = digits.starts_with('+');
  if (plus) digits.remove_prefix(1);
  const bool percent = digits.ends_with('%');
  if (percent) digits.remove_suffix(1);
  const auto value = parse_decimal(percent ? trim(digits) : digits);
  if (!value || (!plus && !percent)) {
    return fail(
        part.empty() ? std::string("a limit is empty") : fmt::format("`{}` is not a limit", part),
        kAdvice);
  }
  auto& field = percent ? limit.percent : limit.absolute;
  if (field) {
    return fail(fmt::format("the limit has two {}", percent ? "percentages" : "numbers of units"),
                kAdvice);
  }
  field = *value;
  return {};
}

Expected<Limit> parse_parts(const std::vector<std::string_view>& parts) {
  Limit limit;
  if (parts.size() == 1 && parts.front() == "none") return limit;
  for (const std::string_view part : parts) TRY(add_part(part, limit));
  return limit;
}

}  // namespace

const std::vector<std::string>& limit_metrics() {
  static const std::vector<std::string> kNames = names_of(kMetrics);
  return kNames;
}

Expected<Limit> parse_limit(std::string_view text) { return parse_parts(split(text)); }

Expected<std::map<std::string, Limit>> parse_limits(std::string_view text) {
  std::map<std::string, std::vector<std::string_view>> parts;
  std::string metric;
  for (std::string_view part : split(text)) {
    if (const auto equals = part.find('='); equals != std::string_view::npos) {
      metric = metric_name(trim(part.substr(0, equals)));
      part = trim(part.substr(equals + 1));
      const auto& known = limit_metrics();
      if (std::find(known.begin(), known.end(), metric) == known.end()) {
        return fail(fmt::format("`{}` is not a metric that a limit can be set for", metric),
                    did_you_mean(metric, known));
      }
    }
    if (metric.empty()) {
      return fail(fmt::format("the limit `{}` names no metric", part),
                  "write for example `instructions=0.5%`");
    }
    parts[metric].push_back(part);
  }
  std::map<std::string, Limit> limits;
  for (const auto& [name, texts] : parts) {
    TRY_ASSIGN(limits[name], parse_parts(texts));
  }
  return limits;
}

std::string to_string(const Limit& limit) {
  if (limit.is_none()) return "none";
  std::string text = limit.percent ? fmt::format("{}%", *limit.percent) : "";
  if (!limit.absolute) return text;
  return text + fmt::format("{}+{}", text.empty() ? "" : "|", *limit.absolute);
}

double allowance(const Limit& limit, double baseline) {
  if (limit.is_none()) return std::numeric_limits<double>::infinity();
  const double relative = limit.percent ? std::abs(baseline) * *limit.percent / 100 : 0;
  return std::max(relative, limit.absolute.value_or(0));
}

bool is_beyond(double growth, const std::optional<Limit>& limit, double baseline) {
  return limit && growth > allowance(*limit, baseline) * (1 + 1e-12);
}

}  // namespace instr
