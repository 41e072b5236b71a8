// The limit of each snippet in a process that runs several alternately: a snippet that hangs is
// stopped after its own time, not after that of all.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "worker/cpu_watch.h"

namespace instr {

class SnippetTimes {
 public:
  // The CPU time that each snippet may use, and for which it may be idle; empty: no limits.
  explicit SnippetTimes(std::vector<std::int64_t> limits_ms)
      : limits_ms_(std::move(limits_ms)), used_ms_(limits_ms_.size()) {}

  // Looks at the process while it runs this snippet; nothing: other work, which is not limited.
  // False once the snippet has reached its limit. The use between the last look at another snippet
  // and this one is nobody's.
  bool look(std::optional<std::size_t> snippet, std::int64_t now_ms, const CpuUse& use) {
    if (snippet && *snippet >= limits_ms_.size()) snippet.reset();
    if (snippet != current_) {
      if (watch_) used_ms_[*current_] += watch_->used_ms();
      current_ = snippet;
      watch_.reset();
      if (snippet) {
        const std::int64_t limit = limits_ms_[*snippet];
        watch_.emplace(CpuLimits{limit - used_ms_[*snippet], limit}, now_ms, use);
      }
    }
    if (watch_ && verdict_ == CpuVerdict::kGoesOn) verdict_ = watch_->look(now_ms, use);
    return verdict_ == CpuVerdict::kGoesOn;
  }

  CpuVerdict verdict() const { return verdict_; }
  std::int64_t limit_ms() const { return current_ ? limits_ms_[*current_] : 0; }

 private:
  const std::vector<std::int64_t> limits_ms_;
  std::vector<std::int64_t> used_ms_;
  std::optional<std::size_t> current_;
  std::optional<CpuWatch> watch_;
  CpuVerdict verdict_ = CpuVerdict::kGoesOn;
};

}  // namespace instr
