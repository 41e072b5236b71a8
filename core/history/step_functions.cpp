#include "core/history/step_functions.h"

namespace instr {

std::optional<Attribution> StepFunctions::of(const RecordedStep& step) {
  if (!step.before || step.p || step.series.metric != kInstructions) return std::nullopt;
  const Place before_place{step.series.id, step.before_id};
  const auto before = last_place_ == before_place ? std::move(last_)
                                                  : profiles_.read(step.series.id, step.before_id);
  last_place_ = {step.series.id, step.commit_id};
  last_ = profiles_.read(step.series.id, step.commit_id);
  if (before.empty() || last_.empty()) return std::nullopt;
  return attributor_.attribute(before, last_, step.after - *step.before);
}

}  // namespace instr
