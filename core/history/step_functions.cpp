#include "core/history/step_functions.h"

namespace instr {

namespace {

bool has_functions(const RecordedStep& step) {
  return step.before && !step.p && step.series.metric == kInstructions;
}

}  // namespace

std::optional<Attribution> StepFunctions::of(const RecordedStep& step) {
  if (!has_functions(step)) return std::nullopt;
  const Place before_place{step.series.id, step.before_id};
  const auto before = last_place_ == before_place ? std::move(last_)
                                                  : profiles_.read(step.series.id, step.before_id);
  last_place_ = {step.series.id, step.commit_id};
  last_ = profiles_.read(step.series.id, step.commit_id);
  if (before.empty() || last_.empty()) return std::nullopt;
  return attributor_.attribute(before, last_, step.after - *step.before);
}

std::shared_ptr<const AlignedTrees> StepFunctions::trees_of(const RecordedStep& step) {
  if (!has_functions(step)) return nullptr;
  const auto before = profiles_.read_call_tree(step.series.id, step.before_id);
  const auto after = profiles_.read_call_tree(step.series.id, step.commit_id);
  if (!before || !after) return nullptr;
  return std::make_shared<const AlignedTrees>(aligned(*before, *after));
}

}  // namespace instr
