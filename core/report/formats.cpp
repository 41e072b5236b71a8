#include "core/report/formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/base/content_hash.h"
#include "core/base/format.h"
#include "core/base/junit.h"
#include "core/report/run_report.h"
#include "core/results/fingerprint.h"

namespace instr {

static_assert(std::all_of(std::begin(kReportFormats), std::end(kReportFormats),
                          [](const FormatFacts& known) {
                            return &known == &facts_of(known.format);
                          }),
              "facts_of() takes an entry by its place");

const std::vector<ReportFormat>& document_formats() {
  static const std::vector<ReportFormat> formats = [] {
    std::vector<ReportFormat> known;
    for (const FormatFacts& facts : kReportFormats) {
      if (facts.render != nullptr) known.push_back(facts.format);
    }
    return known;
  }();
  return formats;
}

std::string render(ReportFormat format, const Document& document, const RenderOptions& options) {
  return facts_of(format).render(document, options);
}

// A run for Google Benchmark's compare.py, Bencher, github-action-benchmark, PyTorch's benchmark
// database, and CI servers, which read JUnit XML.

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kBencherNameBytes = 1024;
constexpr std::size_t kBencherSlugBytes = 64;

template <class AnyJson>
std::string format_document(const AnyJson& json) {
  return json.dump(2, ' ', false, AnyJson::error_handler_t::replace) + "\n";
}

Json make_context(const ReportOptions& options) {
  Json context;
  context["date"] = options.header ? options.header->started : "";
  context["executable"] = "instr_bench";
  context["caches"] = Json::array();
  context["note"] = "a time of 0 was not measured; counts are user counters";
  if (!options.header) return context;
  context["instr_bench_version"] = options.header->version;
  for (const auto& [name, value] : options.header->fingerprint.entries) {
    if (!is_library_field(name)) context.emplace(name, Json(value));
  }
  return context;
}

// The reason why the measurement is not a result; empty if it is.
std::string format_error(const Measurement& measurement) {
  if (state_of(measurement) == MeasuredState::kFailed) {
    return printable(reason_of(measurement), true);
  }
  if (!measurement.verification || !measurement.verification->is_wrong()) return "";
  const std::string code = to_string(measurement.verification->code);
  return printable(code + ": " + measurement.verification->reason, true);
}

// Google Benchmark's readers require both times, so a time that was not measured is 0. compare.py
// compares two benchmarks only if their units are equal: without any time the unit is "s", so that
// 0 is not taken for a gain of 100% over the nanoseconds of another run.
void add_time_fields(Json& out, const Json& json, bool is_error) {
  const Json metrics = json.value("metrics", Json::object());
  bool is_timed = false;
  Json times;
  for (const auto& [field, metric] : {std::pair{"real_time", kWall}, {"cpu_time", kCpu}}) {
    const auto time = metrics.find(metric);
    const bool has_time = !is_error && time != metrics.end() && time->is_number();
    times[field] = has_time ? *time : Json(0);
    is_timed = is_timed || has_time;
  }
  const Json counted = is_timed ? json.value("times", Json::object()) : json;
  out["iterations"] = counted.value("iterations", std::uint64_t{0});
  out.update(times);
  out["time_unit"] = is_timed ? "ns" : "s";
}

Json make_benchmark(const Measurement& measurement, const Json& json) {
  const std::string error = format_error(measurement);
  Json out;
  const std::string name = printable(measurement.variant.key);
  out["name"] = name;
  out["run_name"] = name;
  out["run_type"] = "iteration";
  out["repetitions"] = 1;
  out["repetition_index"] = 0;
  out["threads"] = measurement.variant.threads;
  if (!error.empty()) {
    out["error_occurred"] = true;
    out["error_message"] = error;
  }
  add_time_fields(out, json, !error.empty());
  if (json.value("steady", true) == false) out["label"] = "not steady";
  // User counters; emplace() keeps the fields above.
  const Json metrics = json.value("metrics", Json::object());
  for (const auto& [metric, value] : metrics.items()) {
    const bool is_time = metric == kWall || metric == kCpu;
    if (value.is_number() && !is_time) out.emplace(metric, Json(value));
  }
  return out;
}

// A benchmark name that Bencher accepts. A shortened name ends in a hash, so that names stay
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
  std::string slug;
  for (char c : metric) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      slug += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!slug.empty() && slug.back() != '-') {
      slug += '-';
    }
  }
  slug = slug.substr(0, kBencherSlugBytes);
  if (slug.ends_with('-')) slug.pop_back();
  return slug;
}

// Escapes text for a cell of a Markdown table.
std::string cell(const std::string& text) {
  std::string out;
  for (char c : printable(text)) {
    if (c == '|' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string format_remarks(const Counted& counted) {
  std::string text = format_plural(counted.iterations, "iteration");
  if (!counted.steady) {
    text += "\nnot steady: " + unsteady_counts(counted);
  }
  if (!counted.gated) text += fmt::format("\nnot gated: {}", kWhyNotGated);
  return text;
}

Json make_entry(const std::string& key, const std::string& metric, double value,
                const Counted& counted) {
  Json entry;
  entry["name"] = cell(metric == kInstructions ? key : key + " " + metric);
  const Metric* known = find_metric(metric);
  entry["unit"] = cell(known == nullptr ? metric : to_string(known->unit));
  entry["value"] = json_number(value);
  double apart = std::fabs(counted.second_block_instructions - counted.first_block_instructions);
  if (metric == kInstructions && !counted.steady && std::isfinite(apart)) {
    entry["range"] = "± " + to_line(json_number(apart));
  }
  entry["extra"] = format_remarks(counted);
  return entry;
}

Json make_record(const Variant& variant, const std::string& metric, double value) {
  const Metric* known = find_metric(metric);
  const bool has_name = known != nullptr && known->pytorch_name != nullptr;
  return {{"benchmark",
           {{"name", "instr_bench"},
            {"mode", is_differentiated(variant) ? "training" : "inference"},
            {"extra_info",
             {{"device", variant.device},
              {"threads", variant.threads},
              {"description", printable(variant.description)}}}}},
          {"model",
           {{"name", printable(variant.key)},
            {"type", printable(variant.label.substr(0, variant.label.find('/')))},
            {"backend", to_string(variant.backend)}}},
          {"metric",
           {{"name", has_name ? known->pytorch_name : metric},
            {"benchmark_values", Json::array({json_number(value)})}}}};
}

// "instructions=5357", one per line, then further facts needed to read the figures.
std::string figures_text(const Json& measured) {
  std::string text;
  const auto line = [&text](const std::string& name, const Json& value) {
    text += (text.empty() ? "" : "\n") + name + "=";
    text += value.is_string() ? value.get<std::string>() : to_line(value);
  };
  for (const auto& [name, value] : measured["metrics"].items()) line(name, value);
  if (measured["outcome"] == "counted") {
    line("iterations", measured["iterations"]);
    line("steady", measured["steady"]);
    if (measured["steady"] == false) {
      line("first_block_instructions", measured["blocks"][0]);
      line("second_block_instructions", measured["blocks"][1]);
    }
    if (measured["gated"] == false) line("gated", false);
  }
  if (measured.contains("verification")) line("verification", measured["verification"]["code"]);
  return text;
}

JunitCase make_case(const Measurement& measurement) {
  const Json json = to_json(measurement);
  JunitCase made;
  made.classname = measurement.variant.label;
  made.name = measurement.variant.key;
  made.seconds = measurement.seconds;
  if (json["outcome"] == "failed") {
    made.result = JunitResult::kError;
    made.type = json["failure"]["kind"].get<std::string>();
    made.text = json["failure"]["message"].get<std::string>();
  } else if (json["outcome"] == "skipped") {
    made.result = JunitResult::kSkipped;
    made.message = json["reason"].get<std::string>();
    return made;
  } else {
    made.output = figures_text(json);
    if (measurement.verification && measurement.verification->is_wrong()) {
      made.result = JunitResult::kFailure;
      made.type = to_string(measurement.verification->code);
      made.text = measurement.verification->reason;
    }
  }
  made.message = made.text.substr(0, made.text.find('\n'));
  return made;
}

}  // namespace

std::string report_gbench(const std::vector<Measurement>& measurements,
                          const ReportOptions& options) {
  Json json;
  json["context"] = make_context(options);
  json["benchmarks"] = Json::array();
  for (const Measurement& measurement : measurements) {
    const Json measured = to_json(measurement);
    if (measured["outcome"] == "skipped") continue;
    json["benchmarks"].push_back(make_benchmark(measurement, measured));
  }
  return format_document(json);
}

std::string report_bencher(const std::vector<Measurement>& measurements, const ReportOptions&) {
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
  return format_document(json);
}

std::string report_smaller_is_better(const std::vector<Measurement>& measurements,
                                     const ReportOptions&) {
  Json json = Json::array();
  for (const Measurement& measurement : measurements) {
    const auto* counted = std::get_if<Counted>(&measurement.outcome);
    if (counted == nullptr) continue;
    for (const auto& [metric, value] : counted->metrics) {
      if (!std::isfinite(value)) continue;
      json.push_back(make_entry(measurement.variant.key, metric, value, *counted));
    }
  }
  return format_document(json);
}

std::string report_pytorch(const std::vector<Measurement>& measurements, const ReportOptions&) {
  Json json = Json::array();
  for (const Measurement& measurement : measurements) {
    const auto* counted = std::get_if<Counted>(&measurement.outcome);
    if (counted == nullptr) continue;
    for (const auto& [metric, value] : counted->metrics) {
      if (std::isfinite(value)) json.push_back(make_record(measurement.variant, metric, value));
    }
  }
  return format_document(json);
}

std::string report_junit(const std::vector<Measurement>& measurements,
                         const ReportOptions& options) {
  JunitSuite suite;
  suite.name = "instr_bench";
  if (options.header) {
    suite.timestamp = options.header->started.substr(0, options.header->started.find('Z'));
    suite.properties = options.header->fingerprint.entries;
    std::erase_if(suite.properties,
                  [](const auto& property) { return is_library_field(property.first); });
  }
  double seconds = 0;
  for (const Measurement& measurement : measurements) {
    suite.cases.push_back(make_case(measurement));
    seconds += measurement.seconds;
  }
  suite.seconds = options.seconds.value_or(seconds);
  return junit_xml(suite);
}

}  // namespace instr
