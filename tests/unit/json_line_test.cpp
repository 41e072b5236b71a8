#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "core/base/read_file.h"
#include "tests/testing.h"

namespace instr::json_line_test {
namespace {

using namespace testing;

TEST(ParseJson, KeepsTheOrderOfMembers) {
  const auto json = value_of(parse_json(R"({"b":[1,"x"],"a":{"c":null}})"));
  EXPECT_EQ(json.dump(), R"({"b":[1,"x"],"a":{"c":null}})");
  EXPECT_EQ(parse_json("\"größe\"")->get<std::string>(), "größe");
}

TEST(ParseJson, RefusesOtherText) {
  for (const char* text : {"", "{", "{\"a\":1", "x", "{\"a\":\"\xFF\"}", "[1,]", "1 2"}) {
    EXPECT_EQ(parse_json(text).error().what, "this line is not JSON") << text;
  }
}

TEST(ParseJson, RefusesDeepNesting) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(parse_json(nested(100)));
  for (const std::string& text :
       {nested(102), nested(1'000'000), "{\"a\":" + nested(1'000'000) + "}"}) {
    EXPECT_EQ(parse_json(text).error().what, "a value in this line is nested more than 100 deep");
  }
  EXPECT_EQ(parse_json(std::string(1'000'000, '[')).error().what,
            "a value in this line is nested more than 100 deep");
}

}  // namespace
}  // namespace instr::json_line_test
