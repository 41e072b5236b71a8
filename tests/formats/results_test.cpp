// Results files, checked by a common validator with the installed schema.
#include "core/results/results.h"

#include "tests/formats/consumers.h"
#include "tests/results_examples.h"

namespace instr::formats::results_test {
namespace {

class ResultsFormat : public ConsumerTest {
 protected:
  // How many lines the schema accepts, and whether that is all of them.
  static void validate_lines(const fs::path& file, std::size_t count) {
    json found = consume({"lines", INSTR_SOURCE_DIR "/tools/results.schema.json", file.string()});
    EXPECT_EQ(found["errors"], json::array()) << file;
    EXPECT_EQ(found["lines"], count) << file;
  }
};

TEST_F(ResultsFormat, RecordedResults) {
  for (const char* name : {"before.jsonl", "after.jsonl"}) {
    auto results = read_results(fixture(name));
    ASSERT_TRUE(results) << to_string(results.error());
    validate_lines(fixture(name), results->measurements.size() + 2);  // the header and the end
  }
}

TEST_F(ResultsFormat, WrittenResults) {
  const fs::path file = folder() / "results.jsonl";
  auto writer = ResultsTarget::open(file).and_then([](ResultsTarget&& target) {
    return ResultsWriter::create(std::move(target), example_header());
  });
  ASSERT_TRUE(writer) << to_string(writer.error());
  const auto measurements = one_of_each_outcome();
  for (const Measurement& one : measurements) ASSERT_TRUE(writer->append(one));
  ASSERT_TRUE(writer->finish(true));
  validate_lines(file, measurements.size() + 2);
}

TEST_F(ResultsFormat, AMalformedLineIsFound) {
  const json found = consume({"lines", INSTR_SOURCE_DIR "/tools/results.schema.json",
                              write("results.jsonl", R"({"key":"k","outcome":"counted"})"
                                                     "\n")});
  EXPECT_EQ(found["lines"], 1);
  EXPECT_FALSE(found["errors"].empty());
}

}  // namespace
}  // namespace instr::formats::results_test
