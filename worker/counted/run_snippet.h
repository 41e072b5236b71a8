// Runs a snippet in this process, a measurement's child, and reports the result to its host in
// shared memory.
#pragma once

#include <stdint.h>
#include <sys/resource.h>

#include <string>

#include "worker/abi.h"
#include "worker/counted/block_plan.h"

namespace instr {

// Returns the CPU time of this process, and of those that it has waited for. Not a pinned clock.
inline uint64_t used_cpu_us() {
  uint64_t sum = 0;
  for (const auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage used{};
    getrusage(who, &used);
    for (const timeval& time : {used.ru_utime, used.ru_stime}) {
      sum += static_cast<uint64_t>(time.tv_sec) * 1'000'000 + static_cast<uint64_t>(time.tv_usec);
    }
  }
  return sum;
}

// The state of a run, in memory that the child shares with its host: a snippet may close the
// child's descriptors.
enum class RunState : uint32_t {
  kStarted,  // the snippet runs; a child that ends in this state was ended by it
  kFinished,
  kException,
  kDefinitionError,
  kExited,       // the snippet called exit()
  kNoBlocks,     // the snippet returned without requesting a second block
  kDisturbed,    // more than the statement was counted; `text` describes why
  kNoProfile,    // Callgrind's counts could not be read
  kUnsupported,  // a function of CUDA was called that its stand-in lacks; `text` names it
  kNoMemory,     // the arena or the stack could not be mapped
};

struct RunResult {
  RunState state;
  uint32_t arena_exhausted;
  uint32_t fault_signal;    // SIGSEGV and the like; 0: none
  uint32_t stack_overflow;  // the fault was at the stack's end
  int32_t exit_status;      // the status of kExited
  uint32_t is_over;         // the child has stopped, and its host may kill it
  int32_t line;             // the line of an exception in Python; 0: unknown
  uint32_t is_set_up;       // the setup has ended, or begun to prepare the snippet's text
  uint32_t steady;
  uint32_t repeats;        // steady only if `trace` is the same in so many other processes
  uint32_t changes_state;  // see Evidence::changes_state()
  uint32_t is_slow;        // see BlockPlan::is_slow()
  uint64_t trace;          // see Evidence::trace()
  uint64_t iterations;     // iterations of each block
  uint64_t warmup;         // iterations before the first of the blocks
  uint64_t blocks;
  BlockTotals last[2];    // the last two blocks; if not steady, last[0] is the block that differs
                          // most from last[1]
  Events doubled;         // events of a block of twice the iterations; all 0: not counted
  uint64_t compile_ir;    // instructions of the last block, while it compiled
  char event_names[256];  // "Ir Dr Dw"
  uint64_t peak_bytes;    // bytes above the start of an iteration
  uint32_t followed;      // iterations of the block whose calls were noted; 0: not noted
  uint32_t profile_part;  // the profile's number; 0: not written
  uint32_t has_loaded;    // write_loaded_files() has written them
  uint32_t has_device_events;  // write_device_events() has written them
  uint64_t memory_at_start;    // memory_taken_by() when the snippet began
  char text[16 * 1024];        // the text of an exception
};

struct RunRequest {
  instr_snippet snippet = nullptr;
  int threads = 1;
  bool has_device = false;  // requests to the device are kept
  PlanOptions plan;
  uint64_t memory_limit = 0;     // bytes; 0: no limit
  bool is_rehearsal = false;     // nothing is collected or written
  bool want_profile = true;      // writes a profile of the last counted block
  bool cache_sim = false;        // Callgrind simulates caches
  bool branch_sim = false;       // Callgrind simulates a branch predictor
  bool instrument_late = false;  // instrumentation is off until the first counted block
  bool has_host = true;          // this process is its child
  bool wants_loaded = true;      // the files that were loaded
  bool is_repeat = false;        // checks an earlier count, with another clock
  RunResult* result = nullptr;   // shared with the host
};

// The folder of Callgrind's files, by a name of fixed length.
std::string work_folder();

// Sets the process up (arena, stack, signals, LibTorch's state), runs the snippet and fills the
// result. Afterwards this process can only end, or count the empty loop.
void run_snippet(const RunRequest& request);

// Does the same without counting, and undoes it, so that later forks have this code translated. For
// a snippet that leaves nothing behind.
void rehearse_run(const RunRequest& request);

// Returns the same request for the empty loop, which is counted once for all snippets of a unit.
RunRequest empty_loop_request(const RunRequest& like, instr_snippet empty);

struct EmptyLoop;  // worker/counted/empty_loop.h

// Counts the empty loop in a process in which run_snippet() has returned.
EmptyLoop count_empty_loop(const RunRequest& request, instr_snippet empty);

// Ends the process of run_snippet(): stops it for its host to kill. If it ended itself, Callgrind
// would write a last profile, which takes milliseconds.
[[noreturn]] void end_run();

// True if what this process executes is counted now.
bool is_collecting();

// Has one iteration counted, after `warmup` others. To be called before the first block.
void count_once(uint64_t warmup);
// Ends the current block before next_block() does: what runs until then is in no block.
void end_block();

// To be called when the snippet's interpreter begins to compile, and when it ends.
void note_compiling(bool begins);

// True once run_snippet() has begun: new threads of this process are to be counted, and what the
// snippet asks about its surroundings has fixed answers.
bool runs_snippet();
// The threads that the snippet's variant declares.
int declared_threads();
// True if a thread that the snippet has started has not ended.
bool has_live_threads();
// Waits until these sleep, unless it did already: new threads of a pool may spin at first
// (XNNPACK's a million times), which would be counted. Gives up after some seconds of CPU time.
void settle_threads();

}  // namespace instr
