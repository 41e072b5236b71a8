#pragma once

#include <functional>
#include <string>

#include "core/base/phase.h"
#include "core/compile/valgrind.h"
#include "core/definitions/variant.h"
#include "core/measure/measure_config.h"
#include "core/measure/zygote_pool.h"

namespace instr {

struct ScheduleOptions {
  MeasureConfig config = {};
  Valgrind valgrind = {};
  FindWorker find_worker = {};
  int jobs = 1;                                         // cores in total
  std::function<double(const Variant&)> expected = {};  // seconds; absent: 1 for each
  // Called from other threads, as when warm workers cannot be used, or a worker was lost.
  std::function<void(const std::string&)> tell = {};
  BeginPhase on_phase = {};  // "starting LibTorch under Valgrind"

  bool needs_fresh_process() const { return config.isolation == Isolation::kProcess; }
};

}  // namespace instr
