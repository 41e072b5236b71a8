// Counts of calls of functions that torch.compile() has made.
#include <gtest/gtest.h>

#include <string>

#include "tests/e2e/python_fixture.h"
#include "tests/labels.h"

namespace instr::e2e::compiled_counts_test {
namespace {

class CompiledCounts : public PythonTest {};
const RunsUnder kNewestLibtorch("newest", "CompiledCounts.*");

// The second run finds the compiler's cache filled, and another heap, environment and order.
TEST_F(CompiledCounts, AreExactAndGated) {
  write("all.toml", R"toml(schema = 1
[[benchmark]]
label = "add"
py_setup = "a = torch.ones(8, requires_grad=True)"
py_stmt = "c = torch.relu(a + 1) * 2"
signature = "f(a) -> c"
autograd = true
reduce = "sum"
)toml");
  const Records first = counted({"--backend=aot_eager"});
  EXPECT_EQ(first.size(), 2u);
  for (const auto& [key, record] : first) {
    EXPECT_TRUE(record.at("steady")) << record;
    EXPECT_TRUE(record.at("gated")) << record;
  }
  const Records again = counted(
      {"--backend=aot_eager", "--jobs=1"},
      {"INSTR_TEST_REVERSE=1", "INSTR_TEST_CHURN=5000", "LONGER=" + std::string(3000, 'x')});
  for (const auto& [key, record] : again) {
    EXPECT_EQ(record.at("metrics"), first.at(key).at("metrics")) << key;
    EXPECT_EQ(record.at("blocks"), first.at(key).at("blocks")) << key;
  }
}

}  // namespace
}  // namespace instr::e2e::compiled_counts_test
