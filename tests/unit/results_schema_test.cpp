// tools/results.schema.json, compared with the writer and the reader.
#include "tests/results_schema.h"

#include <gtest/gtest.h>

#include <set>

#include "core/results/end_line.h"
#include "tests/results_examples.h"

namespace instr::results_schema_test {
namespace {

using nlohmann::json;

// Members that a line, or an object in it, may lack.
const std::set<std::string> kOptional{"dealt_by",     "shard",    "limits",   "tags",
                                      "profile",      "times",    "others",   "machine",
                                      "verification", "valgrind", "libraries"};

json plain(const nlohmann::ordered_json& line) { return json::parse(line.dump()); }

std::vector<json> measurement_lines() {
  std::vector<json> lines;
  for (const Measurement& one : one_of_each_outcome()) lines.push_back(plain(to_json(one)));
  // Counted and timed, in one line.
  lines.push_back(lines[0]);
  lines.back()["times"] = lines[1]["times"];
  return lines;
}

std::vector<json> all_lines() {
  std::vector<json> lines = measurement_lines();
  lines.push_back(plain(to_json(example_header())));
  lines.push_back(json::parse(end_line(6)));
  return lines;
}

bool is_needed(const json& line, const std::string& name) {
  const std::string outcome = line.value("outcome", "");
  if (outcome == "timed" && name == "times") return true;
  if (outcome == "verified" && name == "verification") return true;
  const Metric* metric = find_metric(name);
  const bool is_asked_for = metric != nullptr && metric->statistic != Statistic::kNone;
  return !is_asked_for && !kOptional.contains(name);
}

// Read between a header and an end, as in a file.
bool is_read(const json& line) {
  const std::string bytes =
      to_line(to_json(example_header())) + "\n" + line.dump() + "\n" + end_line(1) + "\n";
  return parse_results(bytes, "r.jsonl", Incomplete::kRefused).has_value();
}

TEST(ResultsSchema, AcceptsWrittenLines) {
  for (const json& line : all_lines()) EXPECT_TRUE(is_line_of_results(line)) << line;
}

void expect_required(const json& line, const std::string& object) {
  const json::json_pointer where(object);
  for (const auto& [name, value] : line.at(where).items()) {
    if (name == "schema") continue;    // which identifies a header
    if (name == "language") continue;  // files of older versions have none
    json without = line;
    without[where].erase(name);
    EXPECT_EQ(is_line_of_results(without), !is_needed(line, name)) << name << " of " << line;
  }
}

TEST(ResultsSchema, RequiresWhatIsAlwaysWritten) {
  for (const json& line : all_lines()) {
    expect_required(line, "");
    for (const char* name : {"fingerprint", "times", "failure", "verification", "end"}) {
      if (line.contains(name)) expect_required(line, std::string("/") + name);
    }
  }
  json count = measurement_lines()[0];
  count["metrics"].erase("ir");
  EXPECT_FALSE(is_line_of_results(count));
  EXPECT_FALSE(is_line_of_results(json::array()));
}

// A value of another type, wherever there is one.
void expect_typed(const json& line) {
  const json flat = line.flatten();
  for (const auto& [pointer, value] : flat.items()) {
    json wrong = line;
    const json other = value.is_array() ? json::object() : json::array({json::object()});
    wrong[json::json_pointer(pointer)] = other;
    EXPECT_FALSE(is_line_of_results(wrong)) << pointer << " of " << wrong;
  }
  for (const auto& [name, value] : line.items()) {
    if (!value.is_structured()) continue;
    json wrong = line;
    wrong[name] = "x";
    EXPECT_FALSE(is_line_of_results(wrong)) << name << " of " << wrong;
  }
}

TEST(ResultsSchema, TypesEveryMember) {
  for (const json& line : all_lines()) expect_typed(line);
}

TEST(ResultsSchema, DescribesEveryMember) {
  const json& parts = results_schema()["definitions"];
  for (const json& line : all_lines()) {
    const json& part = line.contains("schema") ? parts["header"]
                       : line.contains("end")  ? parts["end"]
                                               : parts["measurement"];
    for (const auto& [name, value] : line.items()) {
      ASSERT_TRUE(part["properties"].contains(name)) << name;
      const json& property = part["properties"][name];
      EXPECT_TRUE(property.contains("description") || property.contains("$ref")) << name;
      if (!property.contains("properties")) continue;
      for (const auto& [inner, ignored] : value.items()) {
        EXPECT_TRUE(property["properties"].contains(inner)) << name << " " << inner;
      }
    }
  }
}

TEST(ResultsSchema, AllowsWhatReadersIgnore) {
  for (json line : measurement_lines()) {
    for (const char* name : {"times", "failure", "verification"}) {
      if (line.contains(name)) line[name]["of a later version"] = {1, 2};
    }
    line["of a later version"] = {{"x", nullptr}};
    EXPECT_TRUE(is_line_of_results(line)) << line;
    EXPECT_TRUE(is_read(line)) << line;
  }
  json header = plain(to_json(example_header()));
  header["of a later version"] = 1;
  EXPECT_TRUE(is_line_of_results(header));
  EXPECT_TRUE(parse_results(header.dump() + "\n" + end_line(0) + "\n", "r", Incomplete::kRefused));
  // The end is identified by having nothing else.
  json end = json::parse(end_line(1));
  end["of a later version"] = 1;
  EXPECT_FALSE(is_line_of_results(end));
  EXPECT_FALSE(is_read(end));
}

TEST(ResultsSchema, RefusesWhatReadersRefuse) {
  const json good = measurement_lines()[1];
  const std::vector<std::pair<std::string, json>> wrong{{"/key", ""},
                                                        {"/outcome", "guessed"},
                                                        {"/times/wall", json::array({1, "x"})},
                                                        {"/times/wall", json::array({-1})},
                                                        {"/times/wall", "x"},
                                                        {"/times/ready", json::array({nullptr})}};
  for (const auto& [pointer, value] : wrong) {
    json line = good;
    line[json::json_pointer(pointer)] = value;
    EXPECT_FALSE(is_line_of_results(line)) << line;
    EXPECT_FALSE(is_read(line)) << line;
  }
  json header = plain(to_json(example_header()));
  header["schema"] = kResultsSchema + 1;
  EXPECT_FALSE(is_line_of_results(header));
}

// Values that readers take for lost or absent.
TEST(ResultsSchema, RefusesWhatIsNeverWritten) {
  const std::vector<std::pair<std::string, json>> of_header{
      {"/started", "yesterday"},
      {"/shard", {0, 4}},
      {"/shard", json::array({1})},
      {"/shard", {1, 2, 3}},
      {"/fingerprint/machine", "x"},
      {"/fingerprint/libraries", "x"},
      {"/fingerprint/libraries", json::array({"x"})},
      {"/fingerprint/libraries", json::array({json::array({"x"})})},
      {"/fingerprint/libraries", json::array({json::array({"x", "y", "z"})})}};
  const std::vector<std::pair<std::string, json>> of_measurement{
      {"/threads", 0},     {"/metrics/ir", -1},    {"/metrics/ir", 2e18},
      {"/iterations", -1}, {"/blocks", {1, 2, 3}}, {"/blocks", json::array({1})}};
  const auto refuse = [](const json& good, const auto& wrong) {
    for (const auto& [pointer, value] : wrong) {
      json line = good;
      line[json::json_pointer(pointer)] = value;
      EXPECT_FALSE(is_line_of_results(line)) << line;
    }
  };
  refuse(plain(to_json(example_header())), of_header);
  refuse(measurement_lines()[0], of_measurement);
}

template <class T>
std::set<std::string> words_up_to(T last) {
  std::set<std::string> words;
  for (int i = 0; i <= static_cast<int>(last); ++i) words.insert(to_string(static_cast<T>(i)));
  return words;
}

std::set<std::string> words_of(const json& property) {
  return property.at("enum").get<std::set<std::string>>();
}

TEST(ResultsSchema, HasTheProgramsWords) {
  const json& parts = results_schema()["definitions"];
  EXPECT_EQ(parts["header"]["properties"]["schema"]["const"], kResultsSchema);
  const json& of = parts["measurement"]["properties"];
  EXPECT_EQ(words_of(of["runtime"]), words_up_to(kRuntimes.back().runtime));
  EXPECT_EQ(words_of(of["autograd"]), words_up_to(Autograd::kForwardBackward));
  auto kinds = words_up_to(FailureKind::kUnsupported);
  kinds.erase(to_string(FailureKind::kUnsupported));  // which is written as skipped
  EXPECT_EQ(words_of(of["failure"]["properties"]["kind"]), kinds);
  EXPECT_EQ(words_of(of["verification"]["properties"]["code"]),
            words_up_to(VerificationCode::kVerifierDidntRun));
  for (const Metric& metric : kMetrics) {
    if (metric.statistic == Statistic::kNone) continue;
    EXPECT_TRUE(of["times"]["properties"].contains(metric.name)) << metric.name;
  }
}

}  // namespace
}  // namespace instr::results_schema_test
