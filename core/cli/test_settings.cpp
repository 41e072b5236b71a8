#include "core/cli/test_settings.h"

#include <cstdlib>

#include "core/cli/values.h"

namespace instr {

namespace {

struct TestSetting {
  const char* variable;
  Take take;
};

}  // namespace

Expected<void> read_test_settings(PlanConfig& plan, MeasureConfig& measure) {
  const Choices<Isolation> isolations{{"fork", Isolation::kFork}, {"process", Isolation::kProcess}};
  const Choices<bool> switches{{"0", false}, {"1", true}};
  const TestSetting settings[] = {
      {"INSTR_TEST_CHURN", take_number(measure.churn, 0)},
      {"INSTR_TEST_ISOLATION", take_choice(measure.isolation, isolations)},
      {"INSTR_TEST_RETRIES", take_number(measure.retries, 0)},
      {"INSTR_TEST_REVERSE", take_choice(plan.is_reversed, switches)},
  };
  for (const auto& [variable, take] : settings) {
    const char* value = std::getenv(variable);
    if (value == nullptr) continue;
    if (auto taken = take({variable, value}); !taken) {
      return fail(std::string(variable) + ": " + taken.error().what, taken.error().advice);
    }
  }
  return {};
}

}  // namespace instr
