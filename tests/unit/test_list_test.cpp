#include "core/definitions/tests.h"
#include "tests/testing.h"

namespace instr::test_list_test {
namespace {

using namespace testing;

constexpr const char* kList = R"({"root": "/home/me/project", "cwd": ".", "args": [], "tests": [
    {"id": "tests/test_a.py::TestCase::test_one[x::y/z]", "is_first_call": false},
    {"id": "tests/test_a.py::test_two", "is_first_call": true}]})";

TEST(TestList, MakesAVariantOfEachTest) {
  TemporaryFolder folder;
  folder.write("tests.json", kList);
  const auto tests = value_of(load_tests(folder.path() / "tests.json"));
  EXPECT_EQ(keys_of(tests),
            (std::vector<std::string>{"pytest/tests/test_a.py/TestCase/test_one[x::y/z]",
                                      "pytest/tests/test_a.py/test_two"}));
  EXPECT_EQ(tests[0].test, "tests/test_a.py::TestCase::test_one[x::y/z]");
  EXPECT_EQ(tests[0].tests->root, "/home/me/project");
  EXPECT_EQ(tests[0].tests->file, folder.path() / "tests.json");
  EXPECT_FALSE(is_first_call(tests[0]));
  EXPECT_TRUE(is_first_call(tests[1]));
}

TEST(TestList, IsRefusedIfMalformed) {
  TemporaryFolder folder;
  for (const char* text : {"", "[]", "{}", R"({"root": "/", "tests": [{"id": 1}]})"}) {
    folder.write("tests.json", text);
    const auto tests = load_tests(folder.path() / "tests.json");
    ASSERT_FALSE(tests) << text;
    EXPECT_EQ(tests.error().what, "this is not a list of tests");
    EXPECT_EQ(tests.error().advice, "let `pytest --instr` write it");
  }
}

}  // namespace
}  // namespace instr::test_list_test
