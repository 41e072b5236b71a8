#include "worker/counted/run_snippet.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <utility>

#include "worker/children.h"
#include "worker/counted/arena.h"
#include "worker/counted/block_plan.h"
#include "worker/counted/clock.h"
#include "worker/counted/collected.h"
#include "worker/counted/empty_loop.h"
#include "worker/counted/instrumentation.h"
#include "worker/counted/simulated_state.h"
#include "worker/counted/snippet_stack.h"
#include "worker/snippet_confines.h"
#include "worker/torch_side.h"
#include "worker/wire.h"

namespace instr {
namespace {

// Callgrind counts system calls even while it does not collect: these read the counters, or are
// next_block()'s.
constexpr uint64_t kOwnSystemCalls = 4;

// The measurement that this process makes.
struct Run {
  instr_context context{};
  RunRequest request;
  pid_t pid = 0;
  char log[PATH_MAX + 32] = "";
  char profile[PATH_MAX + 32] = "";  // the profile's path, without its number
  PlannedBlock block;                // the current one
  bool collecting = false;
  uint32_t parts = 0;         // profiles that Callgrind has written for this process
  ArenaCounters at_start;     // arena counters at the start of the current block
  Collected at_begin{};       // counts at the start of the current block
  int64_t live_at_reset = 0;  // bytes after the last reset of the interpreter
  int64_t growth = 0;         // bytes added since the reset before that one
  uint64_t compile_ir = 0;    // instructions of compiling, in the current block
  bool has_company = false;   // other threads of the snippet existed when it began
  bool is_at_loop = false;    // the snippet has come to its loop
  // Arena counters when end_block() ended the current block.
  std::optional<ArenaCounters> at_end = {};
  uint64_t cpu_us_at_begin = 0;
  uint64_t clock_readings_at_begin = 0;
  DeviceCounters device_at_begin{};
};

// Not on the heap, whose state affects the snippet.
BlockPlan plan;

// Global, since a unit calls next_block() without it.
Run* run = nullptr;
std::atomic<bool> has_begun{false};

// Writes a profile of the events since the last one; returns its number.
uint32_t dump() {
  if (run->request.is_rehearsal) return 0;
  CALLGRIND_DUMP_STATS;
  return ++run->parts;
}

// Does not use the heap, whose state affects the snippet.
void drop_profile(uint32_t part) {
  char path[PATH_MAX + 48];
  snprintf(path, sizeof path, "%s.%u", run->profile, part);
  unlink(path);
}

Collected read_counts() {
  return run->request.is_rehearsal ? rehearse_reading() : read_collected(run->log);
}

void begin_block() {
  run->request.result->is_set_up = 1;
  run->compile_ir = 0;
  // Callgrind also notes calls while it does not collect, and a profile clears those of code that
  // was collected: so that the next one is of its block alone, the block before it is collected,
  // too.
  const bool is_cleared = run->block.kind == BlockKind::kReset && run->request.want_profile;
  // Not in a rehearsal, or the first child's first block would include it.
  run->collecting = (run->block.is_collected || is_cleared) && !run->request.is_rehearsal;
  if (run->block.is_collected) settle_threads();
  if (run->collecting && run->request.instrument_late) start_instrumentation();
  run->has_company = has_live_threads();
  run->cpu_us_at_begin = used_cpu_us();
  // Other threads are always collected: their events since the last block are not this block's.
  run->at_begin = read_counts();
  run->clock_readings_at_begin = clock_readings();
  const bool is_traced = run->request.want_profile && !run->block.is_collected;
  if (run->request.has_device) note_device_events(/*with_callers=*/is_traced);
  run->device_at_begin = device_counters();
  reset_arena_peak();
  run->at_start = arena_counters();
}

void conclude(RunResult& result) {
  const Evidence& evidence = plan.evidence();
  result.blocks = evidence.blocks();
  if (result.blocks == 0) return;
  const Judgement judgement = plan.judge();
  result.steady = judgement.is_steady;
  result.repeats = judgement.repeats;
  result.changes_state = evidence.changes_state();
  result.is_slow = plan.is_slow();
  result.trace = evidence.trace();
  if (!result.steady || result.blocks == 1) result.last[0] = evidence.farthest();
}

uint64_t finish(RunState state) {
  RunResult& result = *run->request.result;
  snprintf(result.event_names, sizeof result.event_names, "%s", event_names());
  run->block = {BlockKind::kDone};
  run->collecting = false;
  result.state = state;
  conclude(result);
  return 0;
}

void keep_result(const Block& block, const ArenaCounters& end) {
  RunResult& result = *run->request.result;
  result.iterations = block.iterations;
  result.peak_bytes = max_live_bytes(run->at_start, end, block.iterations);
  result.last[0] = result.last[1];
  result.last[1] = block.totals;
  result.compile_ir = run->compile_ir;
}

// Keeps the profile of the last counted block, and no other.
void dump_or_drop(BlockKind ended, BlockKind next) {
  RunResult& result = *run->request.result;
  const bool is_wanted = run->request.want_profile;
  if (next == BlockKind::kCounted) {
    result.doubled = {};  // clears counts of earlier blocks, perhaps of another length
    if (result.profile_part != 0) drop_profile(result.profile_part);
    result.profile_part = 0;
    const bool has_result = result.iterations != 0;
    if (is_wanted && (has_result || run->request.plan.is_once)) drop_profile(dump());
  } else if (ended == BlockKind::kCounted && is_wanted) {
    result.profile_part = dump();
  }
}

// Writes the followed calls to a file beside the profiles: they may be too long for the result.
void write_followed() {
  const std::string text = torch_side::followed_calls();
  FILE* file = fopen((std::string(run->profile) + wire::kFollowedSuffix).c_str(), "we");
  if (file == nullptr) return;
  const bool is_written = fwrite(text.data(), 1, text.size(), file) == text.size();
  if (fclose(file) == 0 && is_written) {
    run->request.result->followed = static_cast<uint32_t>(run->block.iterations);
  }
}

// Returns the state, for which it gives a reason.
RunState explain(RunState state, const char* reason) {
  snprintf(run->request.result->text, sizeof run->request.result->text, "%s", reason);
  return state;
}

// Reads the cost of the block that has ended; kStarted if only the statement was counted. Not part
// of next_block(), whose first and last instructions are counted and must not change in number.
[[gnu::noinline]] RunState look_at_block(const ArenaCounters& end, Block& block) {
  block.iterations = run->block.iterations;
  if (run->block.kind == BlockKind::kNotStarted) return RunState::kStarted;
  Collected now = read_counts();
  if (!now.is_known || !run->at_begin.is_known) {
    return explain(RunState::kNoProfile, now.error != 0 ? strerror(now.error) : "no new line");
  }
  const bool was_counted = run->collecting || run->at_end;
  const RunRequest& request = run->request;
  const bool has_company = was_counted && run->has_company && request.threads == 1;
  const char* wrong =
      find_disturbance(run->at_begin, now, was_counted ? block.iterations : 0, has_company);
  const uint64_t readings = clock_readings() - run->clock_readings_at_begin;
  const uint64_t calls = now.system_calls - run->at_begin.system_calls;
  block = {block.iterations,
           {now.events - run->at_begin.events, end.allocs - run->at_start.allocs,
            end.alloc_bytes - run->at_start.alloc_bytes, device_counters() - run->device_at_begin},
           run->request.plan.resets ? run->growth : end.live_bytes - run->at_start.live_bytes,
           calls - std::min(readings + kOwnSystemCalls, calls),
           readings,
           used_cpu_us() - run->cpu_us_at_begin};
  if (wrong != nullptr) return explain(RunState::kDisturbed, wrong);
  const char* const missing = unsupported_function();
  return missing == nullptr ? RunState::kStarted : explain(RunState::kUnsupported, missing);
}

// Notes by how much live memory has grown since the last reset: garbage and caches are no growth.
void reset_interpreter() {
  torch_side::reset_interpreter();
  const int64_t live = arena_counters().live_bytes;
  run->growth = live - std::exchange(run->live_at_reset, live);
}

// Before the first iteration, too, so that the growth of the first counted block is known.
bool is_reset_before(BlockKind kind) {
  if (kind == BlockKind::kCounted || kind == BlockKind::kFollowed) return run->request.plan.is_once;
  return kind == BlockKind::kFirst || kind == BlockKind::kReset;
}

// Keeps what the ended block gave, and prepares the next one. False if that cannot be run.
bool prepare(const PlannedBlock& next, const Block& ended, const ArenaCounters& end) {
  const BlockKind ended_kind = run->block.kind;
  if (next.ended_is_result) keep_result(ended, end);
  if (next.ended_is_result && run->request.has_device && !run->request.is_repeat) {
    char path[PATH_MAX + 48];
    snprintf(path, sizeof path, "%s%s", run->profile, wire::kDeviceSuffix);
    run->request.result->has_device_events = write_device_events(path, ended.iterations);
  }
  if (ended_kind == BlockKind::kDoubled) run->request.result->doubled = ended.totals.events;
  if (ended_kind == BlockKind::kFollowed) write_followed();
  dump_or_drop(ended_kind, next.kind);
  if (run->request.plan.resets && is_reset_before(next.kind)) reset_interpreter();
  if (next.settling_left) torch_side::settle_code(*next.settling_left);
  const auto total = [] { return read_collected(run->log).events.ir(); };
  return next.kind != BlockKind::kFollowed || torch_side::follow_calls(total);
}

// Ends the current block, with these counters, and begins the next one.
uint64_t next_iterations(const ArenaCounters& now) {
  if (run->block.kind == BlockKind::kDone) return 0;
  const ArenaCounters end = run->at_end.value_or(now);
  Block block;
  RunState state = look_at_block(end, block);
  run->at_end.reset();
  if (state != RunState::kStarted) return finish(state);
  if (run->block.kind == BlockKind::kNoting) torch_side::end_noting_code();
  PlannedBlock next = plan.next(block);
  if (next.kind == BlockKind::kNoting && !torch_side::note_code()) next = plan.skip_noting();
  run->request.result->warmup = plan.warmup();
  const bool is_prepared = prepare(next, block, end);
  if (!is_prepared || next.kind == BlockKind::kDone) return finish(RunState::kFinished);
  run->block = next;
  begin_block();
  return next.iterations;
}

// Must be the last step before collection starts, so that all blocks begin from the same state. A
// rehearsal always does it, so that later forks have the code translated.
void forget_simulated() {
  if (run->request.cache_sim || run->request.is_rehearsal) forget_caches();
  if (run->request.branch_sim || run->request.is_rehearsal) forget_branches();
}

// Stops collection first and starts it last. The few instructions that are counted around that are
// the same in each block of each snippet, including the empty one.
uint64_t next_block(instr_context*) {
  if (run->collecting) CALLGRIND_TOGGLE_COLLECT;
  if (own_id() != run->pid) end_process();  // a process that the snippet forked came here
  uint64_t iterations = next_iterations(arena_counters());
  forget_simulated();
  if (run->collecting) CALLGRIND_TOGGLE_COLLECT;
  return iterations;
}

// Records a fatal signal and ends the process: with the default action Valgrind would first write a
// report and another profile.
void on_fault(int signal, bool is_stack_overflow) {
  if (own_id() != run->pid) end_process();
  RunResult& result = *run->request.result;
  result.stack_overflow = is_stack_overflow;
  result.fault_signal = static_cast<uint32_t>(signal);
  end_run();
}

// Records an exit() and ends the process: destructors would take seconds.
void note_exit(int status, void*) {
  if (run == nullptr || own_id() != run->pid) return;
  run->request.result->exit_status = status;
  run->request.result->state = RunState::kExited;
  fflush(nullptr);
  end_run();
}

// Ends a snippet that comes to its loop a second time: its statement has jumped into the setup.
void note_mark(instr_context*, instr_mark reached) {
  run->request.result->is_set_up = 1;
  if (reached != INSTR_AT_LOOP || !std::exchange(run->is_at_loop, true)) return;
  if (own_id() != run->pid) end_process();
  run->request.result->state = explain(RunState::kDefinitionError, kLeftEarly);
  end_run();
}

void run_body(void*) { run->request.snippet(&run->context); }

void on_own_stack(void*) {
  torch_side::Caught caught = torch_side::run_guarded(run_body, nullptr);
  if (run->collecting) CALLGRIND_TOGGLE_COLLECT;
  run->collecting = false;
  if (own_id() != run->pid) end_process();
  RunResult& result = *run->request.result;
  if (caught.any) {
    snprintf(result.text, sizeof result.text, "%s", caught.text.c_str());
    result.line = caught.line;
    result.state = caught.is_definition_error ? RunState::kDefinitionError : RunState::kException;
  } else if (result.state == RunState::kStarted) {
    result.state = RunState::kNoBlocks;
  }
}

void call_on_own_stack() {
  torch_side::use_stack(reinterpret_cast<void*>(snippet_stack::kLowest), snippet_stack::kSize);
  snippet_stack::call(on_own_stack);
  torch_side::use_stack(nullptr, 0);
}

// Sets full paths, since the snippet may close descriptors and change folders. Not on the heap,
// where the paths' lengths would show.
void name_files() {
  char folder[PATH_MAX];
  ssize_t size = readlink(work_folder().c_str(), folder, sizeof folder);
  if (size < 0 || size == sizeof folder) return;
  int length = static_cast<int>(size);
  snprintf(run->profile, sizeof run->profile, "%.*s/%s%d", length, folder, wire::kProfilePrefix,
           run->pid);
  snprintf(run->log, sizeof run->log, "%s.log", run->profile);
}

// Forgets the blocks of an earlier run.
void restart_plan() {
  PlanOptions& options = run->request.plan;
  options.warm_up_for = torch_side::warm_up_for;
  options.resets = torch_side::has_interpreter();
  options.max_block = torch_side::max_block();
  options.entry = torch_side::block_entry();
  run->block = {};
  run->is_at_loop = false;
  plan = BlockPlan(options);
}

void begin_run(const RunRequest& request) {
  *request.result = RunResult{};
  run = new Run;
  run->request = request;
  restart_plan();
  run->pid = own_id();
  name_files();
  run->context.abi_version = INSTR_ABI_VERSION;
  run->context.threads = request.threads;
  run->context.next_block = next_block;
  run->context.mark = note_mark;
  run->context.take_module = [](instr_context*, const void*) {};
}

}  // namespace

std::string work_folder() { return "/proc/self/fd/" + std::to_string(wire::kWorkFolderFd); }

void end_run() {
  if (!run->request.has_host) end_process();
  run->request.result->is_over = 1;
  for (;;) kill(own_id(), SIGSTOP);
}

void run_snippet(const RunRequest& request) {
  begin_run(request);
  // Before the fresh arena: in a forked process this makes LibTorch create a new thread pool.
  torch_side::prepare(request.threads);
  uint32_t* exhausted = &request.result->arena_exhausted;
  const auto blocks = torch_side::has_interpreter() ? FirstBlocks::kAlike : FirstBlocks::kCheaper;
  if (!snippet_stack::map(on_fault) || !open_fresh_arena(request.memory_limit, exhausted, blocks)) {
    request.result->state = RunState::kNoMemory;
    return;
  }
  request.result->memory_at_start = memory_taken_by(own_id());
  on_exit(note_exit, nullptr);
  if (request.is_repeat) disturb_clock();
  has_begun.store(true);
  call_on_own_stack();
}

EmptyLoop count_empty_loop(const RunRequest& request, instr_snippet empty) {
  RunResult kept = *request.result;
  *request.result = RunResult{};
  run->request = empty_loop_request(request, empty);
  restart_plan();
  call_on_own_stack();
  RunResult counted = *request.result;
  *request.result = kept;
  return read_empty_loop(counted);
}

void rehearse_run(const RunRequest& request) {
  rehearse_fresh_arena();
  begin_run(request);
  torch_side::prepare(request.threads);
  if (snippet_stack::map(on_fault)) call_on_own_stack();
  snippet_stack::unmap();
  delete run;
  run = nullptr;
}

bool is_collecting() { return run != nullptr && run->collecting; }

void count_once(uint64_t warmup) {
  run->request.plan.is_once = true;
  run->request.plan.warmup = warmup;
  restart_plan();
}

void end_block() {
  if (!run->collecting) return;
  CALLGRIND_TOGGLE_COLLECT;
  run->collecting = false;
  run->at_end = arena_counters();
}

void note_compiling(bool begins) {
  if (run == nullptr || !run->collecting) return;
  CALLGRIND_TOGGLE_COLLECT;
  const uint64_t now = read_collected(run->log).events.ir();
  run->compile_ir += begins ? 0 - now : now;
  CALLGRIND_TOGGLE_COLLECT;
}

bool runs_snippet() { return has_begun.load(); }
int declared_threads() { return run->request.threads; }

}  // namespace instr
