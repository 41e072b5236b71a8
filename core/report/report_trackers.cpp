// A run for services that track counts over time: Bencher, and the list that
// github-action-benchmark takes.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/format.h"
#include "core/compile/cache.h"
#include "core/report/report.h"

namespace instr {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kBencherNameBytes = 1024;
constexpr std::size_t kBencherSlugBytes = 64;

template <class AnyJson>
std::string document(const AnyJson& json) {
  return json.dump(2, ' ', false, AnyJson::error_handler_t::replace) + "\n";
}

// A benchmark name that Bencher accepts; a shortened one ends in a hash, so that names stay
// distinct.
std::string bencher_name(const std::string& key) {
  std::string name = printable(key);
  if (name.size() <= kBencherNameBytes) return name;
  std::string hash = content_hash(name);
  std::size_t end = kBencherNameBytes - hash.size() - 1;
  while ((static_cast<unsigned char>(name[end]) & 0xC0) == 0x80) --end;
  return name.substr(0, end) + "-" + hash;
}

// Lower-case letters, digits and single dashes between them: "alloc_bytes" -> "alloc-bytes".
std::string bencher_slug(const std::string& metric) {
  const std::string name = public_name(metric);
  std::string slug;
  for (char c : name) {
    bool is_capital = c >= 'A' && c <= 'Z';
    bool is_plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (is_plain || is_capital) {
      slug += is_capital ? static_cast<char>(c - 'A' + 'a') : c;
    } else if (!slug.empty() && slug.back() != '-') {
      slug += '-';
    }
  }
  slug = slug.substr(0, kBencherSlugBytes);
  if (slug.ends_with('-')) slug.pop_back();
  return slug;
}

std::string unit_of(const std::string& metric) {
  const Metric* known = find_metric(metric);
  return known == nullptr ? metric : to_string(known->unit);
}

// In one line, and safe in a cell of a Markdown table.
std::string cell(const std::string& text) {
  std::string out;
  for (char c : printable(text)) {
    if (c == '|' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string remarks_of(const Counted& counted) {
  std::string text = format_plural(counted.iterations, "iteration");
  if (!counted.steady) {
    text += fmt::format("\nnot steady: {}, then {}", format_count(counted.first_block_ir),
                        format_count(counted.second_block_ir));
  }
  if (!counted.gated) text += fmt::format("\nnot gated: {}", kWhyNotGated);
  return text;
}

Json entry_of(const std::string& key, const std::string& metric, double value,
              const Counted& counted) {
  Json entry;
  entry["name"] = cell(metric == kInstructions ? key : key + " " + metric);
  entry["unit"] = cell(unit_of(metric));
  entry["value"] = json_number(value);
  double apart = std::fabs(counted.second_block_ir - counted.first_block_ir);
  if (metric == kInstructions && !counted.steady && std::isfinite(apart)) {
    entry["range"] = "± " + to_line(json_number(apart));
  }
  entry["extra"] = remarks_of(counted);
  return entry;
}

}  // namespace

std::string report_bencher(const std::vector<Measurement>& measurements, const ReportOptions&) {
  // Sorted, so that finding a key stays cheap.
  nlohmann::json json = nlohmann::json::object();
  for (const Measurement& measurement : measurements) {
    const auto* counted = std::get_if<Counted>(&measurement.outcome);
    if (counted == nullptr) continue;
    nlohmann::json measures = nlohmann::json::object();
    for (const auto& [metric, value] : counted->metrics) {
      std::string slug = bencher_slug(metric);
      if (!slug.empty() && std::isfinite(value)) {
        measures.emplace(slug, nlohmann::json{{"value", nlohmann::json(json_number(value))}});
      }
    }
    if (!measures.empty()) json.emplace(bencher_name(measurement.variant.key), measures);
  }
  return document(json);
}

std::string report_smaller_is_better(const std::vector<Measurement>& measurements,
                                     const ReportOptions&) {
  Json json = Json::array();
  for (const Measurement& measurement : measurements) {
    const auto* counted = std::get_if<Counted>(&measurement.outcome);
    if (counted == nullptr) continue;
    for (const auto& [metric, value] : counted->metrics) {
      if (!std::isfinite(value)) continue;
      json.push_back(entry_of(measurement.variant.key, metric, value, *counted));
    }
  }
  return document(json);
}

}  // namespace instr
