#include "worker/counted/run_snippet.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

#include <algorithm>
#include <atomic>
#include <string>

#include "worker/children.h"
#include "worker/counted/arena.h"
#include "worker/counted/process_memory.h"
#include "worker/counted/simulated_state.h"
#include "worker/torch_side.h"
#include "worker/wire.h"

extern "C" void instr_call_on_stack(void (*function)(void*), void* argument, void* stack_top);

namespace instr {
namespace {

// At a fixed address: the position of a stack, and with it the alignment of its variables, shows in
// counts. Below any stack that the process had before: Callgrind takes a step up for a return.
constexpr uint64_t kSignalStackBase = 0x5'C000'0000;
constexpr uint64_t kSignalStackSize = 64 << 10;
constexpr uint64_t kGuardBase = kSignalStackBase + kSignalStackSize;
constexpr uint64_t kGuardSize = 1 << 20;
constexpr uint64_t kStackSize = 8 << 20;  // what a program's main thread usually has
constexpr uint64_t kStackTop = kGuardBase + kGuardSize + kStackSize;

constexpr uint64_t kEmptyLoopIterations = 24;
// No further block is started once this many instructions were counted without becoming steady.
constexpr uint64_t kMaxInstructions = 400'000'000;
// Single iterations at the end of the warm-up that are counted, to see whether a block costs as
// many times more as it has iterations.
constexpr uint64_t kLooks = 3;
// The long block has as many iterations as cost at most this together.
constexpr uint64_t kMaxInLongBlock = 400'000;
// Blocks beyond those that are needed, for statements that make system calls, and single iterations
// in search of a period are not counted once they have cost more than this.
constexpr uint64_t kMaxExtra = 10'000'000;
constexpr uint32_t kFirstSingles = 24;  // then twice as many, until a period is found
// A statement that makes system calls is counted again in this many processes.
constexpr uint32_t kRepeatsOfCalls = 3;
// Callgrind counts system calls even while it does not collect: those that read the counters, and
// that of next_block().
constexpr uint64_t kOwnSystemCalls = 4;

// If iterations are expensive, the first blocks have 2. If these differ, the cost may repeat every
// third iteration: 6 hold whole periods of either.
constexpr uint64_t kShortBlock = 2;
constexpr uint64_t kLongerBlock = 6;
constexpr uint64_t kMaxFollowed = 6;  // iterations; each call in them takes a look at the counters

// Iterations of a block by the cost of one iteration: a function of the count alone, never of time,
// so that each run of the same code measures alike. Numbers with many divisors: if a snippet keeps
// blocks from one iteration to the next (gradients), addresses repeat every second or third
// iteration, and with them the cost of hash tables of pointers.
uint64_t iterations_for(uint64_t ir) {
  if (ir <= 20'000) return 24;
  if (ir <= 250'000) return 12;
  if (ir <= 1'000'000) return 6;
  if (ir <= 50'000'000) return kShortBlock;
  return 1;
}

enum class Phase {
  kNothingYet,
  kFirst,
  kNoting,
  kProbe,
  kWarmUp,
  kSettling,
  kBlock,
  kDouble,
  kLong,
  kSingle,
  kFollowed,
  kDone
};

// The measurement that this process makes.
struct Run {
  RunRequest request;
  instr_context context{};
  pid_t pid = 0;
  char log[PATH_MAX + 32] = "";
  char profile[PATH_MAX + 32] = "";  // without its number
  Phase phase = Phase::kNothingYet;
  bool collecting = false;
  uint64_t iterations = 0;    // of the current block
  uint64_t block_length = 0;  // iterations of each counted block
  bool is_code_noted = false;
  uint64_t settling = 0;  // iterations left until the interpreter's code stays as it is
  bool threads_settle = true;
  int threads_settled = 0;      // how many are known to sleep when idle
  uint32_t parts = 0;           // profiles that Callgrind has written for this process
  ArenaCounters at_start;       // of the current block
  Collected at_begin{};         // of the current block
  bool has_company = false;     // other threads existed when it began
  uint64_t counted = 0;         // instructions in all blocks
  uint32_t singles_wanted = 0;  // before the next search for a period
  bool has_looked_longer = false;
};

// Not on the heap, whose state affects the snippet.
Evidence evidence;

// next_block() is called from a unit with nothing but its context: the run is found here.
Run* run = nullptr;
std::atomic<bool> threads_counted{false};
std::atomic<int> threads_started{0};

// Writes a profile of the events since the last one; returns its number.
uint32_t dump() {
  if (run->request.is_rehearsal) return 0;
  CALLGRIND_DUMP_STATS;
  return ++run->parts;
}

// In place and not on the heap, whose state affects the snippet.
void drop_profile(uint32_t part) {
  char path[PATH_MAX + 48];
  snprintf(path, sizeof path, "%s.%u", run->profile, part);
  unlink(path);
}

bool is_simulated() { return run->request.cache_sim || run->request.branch_sim; }

uint64_t begin_block(Phase phase, uint64_t iterations, bool collect) {
  run->phase = phase;
  run->iterations = iterations;
  // Not in a rehearsal, or the first child's first block would include it.
  run->collecting = collect && !run->request.is_rehearsal;
  int threads = threads_started.load();
  if (collect && threads != 0) {
    if (run->threads_settle && run->threads_settled != threads) {
      run->threads_settle = settle_threads();
      run->threads_settled = threads;
    }
  }
  if (run->collecting && run->request.instrument_late) CALLGRIND_START_INSTRUMENTATION;
  run->has_company = threads != 0 && has_other_threads();
  // Other threads are always collected: what they did since the last block does not belong to this
  // one.
  if (!run->request.is_rehearsal) run->at_begin = collected(run->log);
  reset_arena_peak();
  run->at_start = arena_counters();
  return iterations;
}

void conclude(RunResult& result) {
  if (evidence.blocks() == 0) return;
  const bool is_judged = run->request.is_judged;
  const bool has_calls = is_judged && evidence.has_system_calls();
  const bool is_certain =
      !is_judged || evidence.holds_whole_periods() || (!has_calls && evidence.has_majority());
  result.steady = evidence.has_equal_pair() && is_certain;
  if (has_calls) {
    result.repeats = kRepeatsOfCalls;
  } else if (is_judged && evidence.is_uneven()) {
    result.repeats = 1;
  }
  result.changes_state = evidence.changes_state();
  result.trace = evidence.trace();
  if (!result.steady) result.last[0] = evidence.farthest();
}

uint64_t finish(RunState state) {
  snprintf(run->request.result->event_names, sizeof run->request.result->event_names, "%s",
           event_names());
  run->phase = Phase::kDone;
  run->collecting = false;
  run->request.result->state = state;
  conclude(*run->request.result);
  return 0;
}

uint64_t highest_live(const ArenaCounters& end) {
  int64_t peak = end.peak_bytes - run->at_start.live_bytes;
  int64_t growth = end.live_bytes - run->at_start.live_bytes;
  // Memory that an iteration leaves behind is part of the next one's start.
  auto n = static_cast<int64_t>(run->iterations);
  if (growth > 0) peak -= growth / n * (n - 1);
  return peak > 0 ? static_cast<uint64_t>(peak) : 0;
}

void keep_block(const Block& block, const ArenaCounters& end) {
  RunResult& result = *run->request.result;
  evidence.add_counted(block);
  result.iterations = run->iterations;
  result.peak_bytes = highest_live(end);
  result.blocks = evidence.blocks();
  result.last[0] = result.last[1];
  result.last[1] = block.totals;
  run->counted += block.totals.events.ir();
}

// Two equal blocks are enough unless there is something to doubt. Memory may stop growing: an
// interpreter's lists of free objects do.
bool has_enough_blocks() {
  if (evidence.blocks() < 2) return false;
  if (evidence.blocks() >= kMaxBlocks || run->counted > kMaxInstructions) return true;
  if (!run->request.is_judged) return evidence.has_equal_pair();
  const bool is_affordable = run->counted <= kMaxExtra;
  if (evidence.grows() && is_affordable) return false;
  if (!evidence.holds_whole_periods()) return evidence.has_majority();
  return evidence.has_equal_pair() && !(evidence.has_system_calls() && is_affordable);
}

uint64_t begin_counting() {
  RunResult& result = *run->request.result;
  if (result.profile_part != 0) drop_profile(result.profile_part);
  result.profile_part = 0;
  // The profile must only hold the last block.
  if (run->request.want_profile && result.blocks != 0) drop_profile(dump());
  return begin_block(Phase::kBlock, run->block_length, true);
}

void restart_with(uint64_t length) {
  run->block_length = length;
  evidence.restart();
}

// After two short blocks that differed: longer ones, if two still fit.
void lengthen_blocks() {
  bool is_first_pair = run->block_length == kShortBlock && evidence.blocks() == 2;
  if (run->request.iterations != 0 || !is_first_pair) return;
  uint64_t iteration = run->counted / (2 * kShortBlock);
  if (run->counted + kLongerBlock * iteration > kMaxInstructions) return;
  restart_with(kLongerBlock);
}

// Blocks of other lengths may be counted, beside those that are the result.
bool may_look_further() {
  return run->request.iterations == 0 && !is_simulated() && run->request.is_judged;
}

// The number of single iterations with which a period is searched for next.
uint32_t next_singles() { return std::max(kFirstSingles, 2 * evidence.singles()); }

// A period is searched for unless one is known, or blocks seem to hold whole periods.
bool may_search() {
  const bool seems_whole = evidence.holds_whole_periods() && !evidence.has_rare_costs();
  if (!may_look_further() || seems_whole || evidence.period() != 0) return false;
  if (next_singles() > kMaxSingles) return false;
  const uint64_t more = next_singles() - evidence.singles();
  const uint64_t iteration = evidence.last().events.ir() / run->block_length;
  return evidence.cost_of_singles() + more * iteration <= kMaxExtra;
}

// All has been counted; the calls may still be to be followed.
uint64_t follow_or_finish() {
  const auto total = [] { return collected(run->log).events.ir(); };
  if (!run->request.follow_calls || !torch_side::follow_calls(total)) {
    return finish(RunState::kFinished);
  }
  const uint64_t iterations = std::min(run->block_length, kMaxFollowed);
  return begin_block(Phase::kFollowed, iterations, true);
}

// Beside the profiles: longer than what is shared with the host.
void write_followed() {
  const std::string text = torch_side::followed_calls();
  FILE* file = fopen((std::string(run->profile) + wire::kFollowedSuffix).c_str(), "we");
  if (file == nullptr) return;
  const bool is_written = fwrite(text.data(), 1, text.size(), file) == text.size();
  if (fclose(file) == 0 && is_written) {
    run->request.result->followed = static_cast<uint32_t>(run->iterations);
  }
}

// Single iterations at the end of the warm-up: the interpreter's code, if it was noted, comes to
// rest in them, and the last ones are counted.
uint64_t settle_or_count() {
  if (run->is_code_noted) torch_side::settle_code(run->settling);
  if (run->settling == 0) return begin_counting();
  const bool is_look = run->settling <= kLooks;
  run->settling -= 1;
  return begin_block(Phase::kSettling, 1, is_look);
}

// The rest of the warm-up, then the blocks.
uint64_t warm_up_or_count() {
  RunResult& result = *run->request.result;
  uint64_t wanted = run->request.warmup.value_or(torch_side::warm_up_for(run->block_length));
  if (result.warmup >= wanted) return begin_counting();
  uint64_t rest = wanted - result.warmup;
  result.warmup = wanted;
  run->settling = std::min(rest, run->is_code_noted ? torch_side::kSettlingIterations : kLooks);
  if (run->block_length == 1 && !run->is_code_noted) run->settling = 0;
  if (rest == run->settling) return settle_or_count();
  return begin_block(Phase::kWarmUp, rest - run->settling, false);
}

// The iteration after the first runs what all later ones do.
bool note_code() {
  const auto asked = run->request.warmup;
  const bool has_room = !asked || *asked > 2 + torch_side::kSettlingIterations;
  run->is_code_noted = has_room && torch_side::note_code();
  return run->is_code_noted;
}

uint64_t probe_or_warm_up() {
  run->block_length = run->request.iterations;
  return run->block_length != 0 ? warm_up_or_count() : begin_block(Phase::kProbe, 1, true);
}

// The counted blocks have ended, equal or not.
uint64_t search_or_finish() {
  if (!may_search()) return follow_or_finish();
  run->singles_wanted = next_singles();
  return begin_block(Phase::kSingle, 1, true);
}

// Begins the one long block, which may hold what happens only now and then.
uint64_t look_longer() {
  const uint64_t in_block = evidence.last().events.ir();
  const uint64_t affordable = kMaxInLongBlock * run->block_length / std::max<uint64_t>(in_block, 1);
  const uint64_t length = std::min(affordable, torch_side::max_block());
  if (!may_look_further() || run->has_looked_longer || length <= 2 * run->block_length) {
    return search_or_finish();
  }
  run->has_looked_longer = true;
  return begin_block(Phase::kLong, length, true);
}

uint64_t after_single(const Block& block) {
  evidence.add_single(block);
  if (evidence.singles() < run->singles_wanted) return begin_block(Phase::kSingle, 1, true);
  const uint64_t period = evidence.period();
  if (period == 0) return search_or_finish();
  if (run->block_length % period == 0) return follow_or_finish();
  restart_with(period);
  return begin_counting();
}

// The result of the previous block: kStarted if it counted the statement and nothing else. Not part
// of next_block(), whose first and last instructions are counted, and must not change in number.
[[gnu::noinline]] RunState look_at_block(const ArenaCounters& end, Block& block) {
  block.iterations = run->iterations;
  if (run->phase == Phase::kNothingYet || run->request.is_rehearsal) return RunState::kStarted;
  Collected now = collected(run->log);
  if (!now.is_known || !run->at_begin.is_known) return RunState::kNoProfile;
  bool was_counted = run->collecting;
  bool is_alone = was_counted && run->has_company && run->request.threads == 1;
  const char* wrong = disturbance(run->at_begin, now, was_counted ? run->iterations : 0, is_alone);
  block = {run->iterations,
           {now.events - run->at_begin.events, end.allocs - run->at_start.allocs,
            end.alloc_bytes - run->at_start.alloc_bytes},
           end.live_bytes - run->at_start.live_bytes,
           now.system_calls - run->at_begin.system_calls - kOwnSystemCalls};
  if (wrong == nullptr) return RunState::kStarted;
  snprintf(run->request.result->text, sizeof run->request.result->text, "%s", wrong);
  return RunState::kDisturbed;
}

// The previous block has ended with these counters: decides what to run next.
uint64_t next_iterations(const ArenaCounters& end) {
  const RunRequest& request = run->request;
  RunResult& result = *request.result;
  Block block;
  RunState state = look_at_block(end, block);
  if (state != RunState::kStarted) return finish(state);
  switch (run->phase) {
    case Phase::kNothingYet:
      if (request.warmup == 0U) {  // the first iteration is to be counted: nothing may probe it
        run->block_length = std::max<uint64_t>(request.iterations, 1);
        return begin_counting();
      }
      result.warmup = 1;
      return begin_block(Phase::kFirst, 1, false);
    case Phase::kFirst:
      if (!note_code()) return probe_or_warm_up();
      result.warmup += 1;
      return begin_block(Phase::kNoting, 1, false);
    case Phase::kNoting: torch_side::end_noting_code(); return probe_or_warm_up();
    case Phase::kProbe:
      run->block_length = iterations_for(block.totals.events.ir());
      if (run->block_length == 1 && request.warmup <= 1) {
        keep_block(block, end);
        return begin_counting();
      }
      result.warmup += 1;
      return warm_up_or_count();
    case Phase::kSettling:
      if (run->collecting) evidence.add(block);
      return settle_or_count();
    case Phase::kWarmUp: return settle_or_count();
    case Phase::kBlock:
      keep_block(block, end);
      if (!has_enough_blocks()) {
        lengthen_blocks();
        return begin_counting();
      }
      if (request.want_profile) result.profile_part = dump();
      if (!evidence.has_equal_pair() || (run->block_length == 1 && !is_simulated())) {
        return search_or_finish();
      }
      // Its additional events come from iterations alone: the cost of entering a block is in both.
      return begin_block(Phase::kDouble, 2 * run->block_length, true);
    case Phase::kDouble:
      result.doubled = block.totals.events;
      evidence.add_doubled(block);
      return has_enough_blocks() ? look_longer() : begin_counting();
    case Phase::kLong: evidence.add_long(block); return search_or_finish();
    case Phase::kSingle: return after_single(block);
    case Phase::kFollowed: write_followed(); return finish(RunState::kFinished);
    case Phase::kDone: break;
  }
  return 0;
}

// The last step before collection starts, so that all blocks begin from the same state. A rehearsal
// does it for later forks, whether they simulate or not.
void forget_simulated() {
  if (run->request.cache_sim || run->request.is_rehearsal) forget_caches();
  if (run->request.branch_sim || run->request.is_rehearsal) forget_branches();
}

// Stops collection first and starts it last; the few instructions counted around that are the same
// in each block of each snippet, including the empty one.
uint64_t next_block(instr_context*) {
  if (run->collecting) CALLGRIND_TOGGLE_COLLECT;
  if (getpid() != run->pid) end_process();  // a process that the snippet forked came here
  uint64_t iterations = next_iterations(arena_counters());
  forget_simulated();
  if (run->collecting) CALLGRIND_TOGGLE_COLLECT;
  return iterations;
}

// A fatal signal is recorded and ends the process here: with the default action Valgrind would
// first write a report and another profile.
void on_fault(int signal, siginfo_t* info, void*) {
  if (getpid() != run->pid) end_process();
  RunResult& result = *run->request.result;
  auto at = reinterpret_cast<uint64_t>(info->si_addr);
  result.stack_overflow = signal == SIGSEGV && at - kGuardBase < kGuardSize;
  result.fault_signal = static_cast<uint32_t>(signal);
  end_run();
}

// The same for exit(), whose destructors would take seconds.
void note_exit(int status, void*) {
  if (run == nullptr || getpid() != run->pid) return;
  run->request.result->exit_status = status;
  run->request.result->state = RunState::kExited;
  fflush(nullptr);
  end_run();
}

char* map_at(uint64_t base, uint64_t size) {
  void* wanted = reinterpret_cast<void*>(base);
  void* got = mmap(wanted, size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return got == wanted ? static_cast<char*>(got) : nullptr;
}

constexpr int kFaults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};

// The signal handlers' stack, guard, and the snippet's stack, whose top is the result, or null.
// Handlers run below: Callgrind takes a step up for a return.
void* map_stacks() {
  char* base = map_at(kSignalStackBase, kStackTop - kSignalStackBase);
  if (base == nullptr) return nullptr;
  if (mprotect(base + kSignalStackSize, kGuardSize, PROT_NONE) != 0) return nullptr;
  stack_t signals{};
  signals.ss_sp = base;
  signals.ss_size = kSignalStackSize;
  sigaltstack(&signals, nullptr);
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (int signal : kFaults) sigaction(signal, &action, nullptr);
  return reinterpret_cast<void*>(kStackTop);
}

void unmap_stacks() {
  for (int fault : kFaults) signal(fault, SIG_DFL);
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
  munmap(reinterpret_cast<void*>(kSignalStackBase), kStackTop - kSignalStackBase);
}

void run_body(void*) { run->request.snippet(&run->context); }

void on_own_stack(void*) {
  torch_side::Caught caught = torch_side::run_guarded(run_body, nullptr);
  if (run->collecting) CALLGRIND_TOGGLE_COLLECT;
  run->collecting = false;
  if (getpid() != run->pid) end_process();
  RunResult& result = *run->request.result;
  if (caught.any) {
    snprintf(result.text, sizeof result.text, "%s", caught.text.c_str());
    result.line = caught.line;
    result.state = caught.is_definition_error ? RunState::kDefinitionError : RunState::kException;
  } else if (result.state == RunState::kStarted) {
    result.state = RunState::kNoBlocks;
  }
}

// By their full names, in place: the snippet may close descriptors and change folders, and the
// length of the names must not show in the heap.
void name_files() {
  char folder[PATH_MAX];
  ssize_t size = readlink(work_folder().c_str(), folder, sizeof folder);
  if (size < 0 || size == sizeof folder) return;
  int length = static_cast<int>(size);
  snprintf(run->profile, sizeof run->profile, "%.*s/%s%d", length, folder, wire::kProfilePrefix,
           run->pid);
  snprintf(run->log, sizeof run->log, "%s.log", run->profile);
}

void begin_run(const RunRequest& request) {
  *request.result = RunResult{};
  run = new Run;
  evidence = Evidence(torch_side::block_entry());
  run->request = request;
  run->pid = getpid();
  name_files();
  run->context.abi_version = INSTR_ABI_VERSION;
  run->context.threads = request.threads;
  run->context.next_block = next_block;
  run->context.mark = [](instr_context*, instr_mark) { run->request.result->is_set_up = 1; };
  run->context.take_module = [](instr_context*, const void*) {};
}

}  // namespace

std::string work_folder() { return "/proc/self/fd/" + std::to_string(wire::kWorkFolderFd); }

void end_run() {
  if (!run->request.has_host) end_process();
  run->request.result->is_over = 1;
  for (;;) kill(getpid(), SIGSTOP);
}

void run_snippet(const RunRequest& request) {
  begin_run(request);
  // Before the fresh arena: in a forked process this makes LibTorch create a new thread pool.
  torch_side::prepare(request.threads);
  void* stack_top = map_stacks();
  uint32_t* exhausted = &request.result->arena_exhausted;
  if (stack_top == nullptr || !open_fresh_arena(request.memory_limit, exhausted)) {
    request.result->state = RunState::kNoMemory;
    return;
  }
  request.result->memory_at_start = memory_taken_by(getpid());
  on_exit(note_exit, nullptr);
  threads_counted.store(true);
  instr_call_on_stack(on_own_stack, nullptr, stack_top);
}

RunRequest empty_loop_request(const RunRequest& like, instr_snippet empty) {
  RunRequest request = like;
  request.snippet = empty;
  request.threads = 1;
  request.warmup = 1;
  request.iterations = kEmptyLoopIterations;
  request.want_profile = false;
  request.follow_calls = false;
  return request;
}

EmptyLoop count_empty_loop(const RunRequest& request, instr_snippet empty) {
  RunResult kept = *request.result;
  *request.result = RunResult{};
  run->request = empty_loop_request(request, empty);
  evidence = Evidence(torch_side::block_entry());
  run->phase = Phase::kNothingYet;
  run->counted = 0;
  instr_call_on_stack(on_own_stack, nullptr, reinterpret_cast<void*>(kStackTop));
  RunResult counted = *request.result;
  *request.result = kept;
  return empty_loop_of(counted);
}

EmptyLoop empty_loop_of(const RunResult& result) {
  if (result.state != RunState::kFinished || !result.steady) return {};
  EmptyLoop loop{result.doubled - result.last[1].events};
  loop.entry_ir = result.last[1].events.ir() - loop.events.ir();
  loop.allocs = result.last[1].allocs;
  loop.alloc_bytes = result.last[1].alloc_bytes;
  loop.peak_bytes = result.peak_bytes;
  for (uint64_t& count : loop.events.of) {
    if (count % result.iterations != 0) return {};
    count /= result.iterations;
  }
  return loop;
}

void rehearse_run(const RunRequest& request) {
  rehearse_fresh_arena();
  begin_run(request);
  torch_side::prepare(request.threads);
  void* stack_top = map_stacks();
  if (stack_top != nullptr) instr_call_on_stack(on_own_stack, nullptr, stack_top);
  unmap_stacks();
  delete run;
  run = nullptr;
}

bool counts_new_threads() { return threads_counted.load(); }
void note_new_thread() { threads_started.fetch_add(1); }

}  // namespace instr
