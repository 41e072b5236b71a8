// A run as JUnit XML.
#include <nlohmann/json.hpp>

#include "core/junit.h"
#include "core/report.h"

namespace instr {

namespace {

using Json = nlohmann::ordered_json;

// "ir=5357" a line, then what else a reader of the counts must know.
std::string counts_text(const Json& counted) {
  std::string text;
  for (const auto& [name, value] : counted["metrics"].items()) {
    text += name + "=" + to_line(value) + "\n";
  }
  text += "iterations=" + to_line(counted["iterations"]) + "\n";
  text += "steady=" + to_line(counted["steady"]);
  if (counted["steady"] == false) {
    text += "\nfirst_block_ir=" + to_line(counted["blocks"][0]) +
            "\nsecond_block_ir=" + to_line(counted["blocks"][1]);
  }
  if (counted["gated"] == false) text += "\ngated=false";
  return text;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

JunitCase case_of(const Measurement& measurement) {
  const Json json = to_json(measurement);
  JunitCase one;
  one.classname = measurement.variant.label;
  one.name = measurement.variant.key;
  one.seconds = measurement.seconds;
  if (json["outcome"] == "counted") {
    one.output = counts_text(json);
  } else if (json["outcome"] == "skipped") {
    one.result = JunitResult::kSkipped;
    one.message = json["reason"].get<std::string>();
  } else {
    one.result = JunitResult::kError;
    one.type = json["failure"]["kind"].get<std::string>();
    one.text = json["failure"]["message"].get<std::string>();
    one.message = first_line(one.text);
  }
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
