// JUnit XML, the form in which CI systems and code hosts read test results.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace instr {

enum class JunitResult { kPassed, kSkipped, kFailure, kError };

struct JunitCase {
  std::string classname;
  std::string name;
  double seconds = 0;
  JunitResult result = JunitResult::kPassed;
  std::string type;     // the type of a failure or an error
  std::string message;  // one line: why it was skipped, or what went wrong
  std::string text;     // the message in full
  std::string output;   // additional text
};

struct JunitSuite {
  std::string name;
  std::string timestamp;  // UTC, "2024-05-01T12:00:00"; empty: not known
  double seconds = 0;
  std::vector<std::pair<std::string, std::string>> properties;
  std::vector<JunitCase> cases;
};

// Writes a document with this suite. Characters that XML 1.0 forbids become U+FFFD; names and
// messages become one line.
std::string junit_xml(const JunitSuite& suite);

}  // namespace instr
