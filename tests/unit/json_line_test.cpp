#include "core/base/json_line.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace instr::json_line_test {
namespace {

std::string object(int count, const std::string& first = "") {
  std::string members = first;
  for (int i = 0; i < count; ++i) {
    members += (members.empty() ? "\"" : ",\"") + std::to_string(i) + "\":1";
  }
  return "{" + members + "}";
}

TEST(ParseJson, GivesTheValueInItsOrder) {
  const auto json = parse_json(R"({"b":[1,"x"],"a":{"c":null}})");
  ASSERT_TRUE(json);
  EXPECT_EQ(json->dump(), R"({"b":[1,"x"],"a":{"c":null}})");
  EXPECT_EQ(parse_json("\"größe\"")->get<std::string>(), "größe");
}

TEST(ParseJson, RefusesOtherText) {
  for (const char* text : {"", "{", "{\"a\":1", "x", "{\"a\":\"\xFF\"}", "[1,]", "1 2"}) {
    EXPECT_EQ(parse_json(text).error().what, "this line is not JSON") << text;
  }
}

TEST(ParseJson, RefusesAnObjectOfVeryManyMembers) {
  EXPECT_TRUE(parse_json(object(256)));
  EXPECT_EQ(parse_json(object(257)).error().what,
            "an object in this line has more than 256 members");
  EXPECT_FALSE(parse_json("[1,{\"x\":" + object(257) + "}]"));
  // Each object has its own count, without those of nested objects.
  EXPECT_TRUE(parse_json("[" + object(200) + "," + object(200) + "]"));
  EXPECT_TRUE(parse_json(object(200, "\"inner\":" + object(200))));
  EXPECT_FALSE(parse_json(object(256, "\"inner\":" + object(200))));
}

}  // namespace
}  // namespace instr::json_line_test
