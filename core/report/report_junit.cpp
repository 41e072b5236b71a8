// A run as JUnit XML.
#include <nlohmann/json.hpp>

#include "core/base/junit.h"
#include "core/report/report.h"
#include "core/results/library_fields.h"

namespace instr {

namespace {

using Json = nlohmann::ordered_json;

// "ir=5357", one per line, then further facts needed to read the figures.
std::string figures_text(const Json& measured) {
  std::string text;
  auto line = [&text](const std::string& name, const Json& value) {
    text += (text.empty() ? "" : "\n") + name + "=";
    text += value.is_string() ? value.get<std::string>() : to_line(value);
  };
  for (const auto& [name, value] : measured["metrics"].items()) line(name, value);
  if (measured["outcome"] == "counted") {
    line("iterations", measured["iterations"]);
    line("steady", measured["steady"]);
    if (measured["steady"] == false) {
      line("first_block_ir", measured["blocks"][0]);
      line("second_block_ir", measured["blocks"][1]);
    }
    if (measured["gated"] == false) line("gated", false);
  }
  if (measured.contains("verification")) line("verification", measured["verification"]["code"]);
  return text;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

JunitCase case_of(const Measurement& measurement) {
  const Json json = to_json(measurement);
  JunitCase one;
  one.classname = measurement.variant.label;
  one.name = measurement.variant.key;
  one.seconds = measurement.seconds;
  if (json["outcome"] == "failed") {
    one.result = JunitResult::kError;
    one.type = json["failure"]["kind"].get<std::string>();
    one.text = json["failure"]["message"].get<std::string>();
  } else if (json["outcome"] == "skipped") {
    one.result = JunitResult::kSkipped;
    one.message = json["reason"].get<std::string>();
    return one;
  } else {
    one.output = figures_text(json);
    if (measurement.verification && measurement.verification->is_wrong()) {
      one.result = JunitResult::kFailure;
      one.type = to_string(measurement.verification->code);
      one.text = measurement.verification->reason;
    }
  }
  one.message = first_line(one.text);
  return one;
}

}  // namespace

std::string report_junit(const std::vector<Measurement>& measurements,
                         const ReportOptions& options) {
  JunitSuite suite;
  suite.name = "instr_bench";
  if (options.header) {
    suite.timestamp = options.header->started.substr(0, options.header->started.find('Z'));
    suite.properties = options.header->fingerprint.entries;
    std::erase_if(suite.properties, [](const auto& one) { return is_library_field(one.first); });
  }
  double seconds = 0;
  for (const Measurement& measurement : measurements) {
    suite.cases.push_back(case_of(measurement));
    seconds += measurement.seconds;
  }
  suite.seconds = options.seconds.value_or(seconds);
  return junit_xml(suite);
}

}  // namespace instr
