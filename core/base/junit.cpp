#include "core/base/junit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "core/base/format.h"

namespace instr {

namespace {

std::string escaped(std::string_view text, bool lines) {
  std::string out;
  for (char c : printable_xml(text, lines)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string attribute(const char* name, std::string_view value) {
  return fmt::format(" {}=\"{}\"", name, escaped(value, false));
}

// In milliseconds, as the strictest of the schemas in use requires.
std::string time_attribute(double seconds) {
  return fmt::format(" time=\"{:.3f}\"", std::isfinite(seconds) ? std::max(seconds, 0.0) : 0.0);
}

std::string element(const char* name, const std::string& attributes, std::string_view text) {
  if (text.empty()) return fmt::format("      <{}{}/>\n", name, attributes);
  return fmt::format("      <{}{}>{}</{}>\n", name, attributes, escaped(text, true), name);
}

std::string result_element(const JunitCase& test) {
  std::string message = attribute("message", test.message);
  switch (test.result) {
    case JunitResult::kPassed: return "";
    case JunitResult::kSkipped: return element("skipped", message, test.text);
    case JunitResult::kFailure:
      return element("failure", attribute("type", test.type) + message, test.text);
    case JunitResult::kError:
      return element("error", attribute("type", test.type) + message, test.text);
  }
  return "";
}

std::string case_element(const JunitCase& test) {
  std::string inside = result_element(test);
  if (!test.output.empty()) inside += element("system-out", "", test.output);
  std::string start = "    <testcase" + attribute("classname", test.classname) +
                      attribute("name", test.name) + time_attribute(test.seconds);
  return inside.empty() ? start + "/>\n" : start + ">\n" + inside + "    </testcase>\n";
}

std::string properties_element(const JunitSuite& suite) {
  if (suite.properties.empty()) return "";
  std::string out = "    <properties>\n";
  for (const auto& [name, value] : suite.properties) {
    out += "      <property" + attribute("name", name) + attribute("value", value) + "/>\n";
  }
  return out + "    </properties>\n";
}

std::string totals(const JunitSuite& suite) {
  auto count = [&suite](JunitResult result) {
    return std::ranges::count(suite.cases, result, &JunitCase::result);
  };
  return fmt::format(" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"",
                     suite.cases.size(), count(JunitResult::kFailure), count(JunitResult::kError),
                     count(JunitResult::kSkipped));
}

}  // namespace

std::string junit_xml(const JunitSuite& suite) {
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite";
  out += attribute("name", suite.name) + totals(suite) + time_attribute(suite.seconds);
  if (!suite.timestamp.empty()) out += attribute("timestamp", suite.timestamp);
  out += ">\n" + properties_element(suite);
  for (const JunitCase& test : suite.cases) out += case_element(test);
  return out + "  </testsuite>\n</testsuites>\n";
}

}  // namespace instr
