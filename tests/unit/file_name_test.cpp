#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "core/base/paths.h"

namespace instr::file_name_test {
namespace {

TEST(MakeFileName, IsNeverTheSameForTwoTexts) {
  const std::string long_text(500, 'x');
  const std::vector<std::string> texts{"a/b", "a.b",         "a b",     "a:b",
                                       "a_b", "a\nb",        "..",      "../x",
                                       ".",   "/etc/passwd", long_text, long_text + "y"};
  std::set<std::string> names;
  for (const auto& text : texts) {
    const std::string name = make_file_name(text);
    EXPECT_EQ(name.find('/'), std::string::npos) << name;
    EXPECT_LE(name.size(), 200U);
    names.insert(name);
  }
  EXPECT_EQ(names.size(), texts.size());
}

}  // namespace
}  // namespace instr::file_name_test
