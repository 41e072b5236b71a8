// Runs one snippet in this process: everything that a measurement's child does, and the page
// through which it reports to its host.
#pragma once

#include <stdint.h>

#include <optional>
#include <string>

#include "worker/abi.h"
#include "worker/counted/evidence.h"

namespace instr {

// How far a run got. Written by the child to memory it shares with its host, so that it survives
// whatever the snippet does to the child's descriptors.
enum class RunState : uint32_t {
  kStarted,  // the snippet runs; a child that ended in this state was ended by it
  kFinished,
  kException,
  kDefinitionError,
  kExited,     // the snippet called exit()
  kNoBlocks,   // the snippet returned without requesting a second block
  kDisturbed,  // something other than the statement was counted; `text` says what
  kNoProfile,  // Callgrind reported nothing readable
  kNoMemory,   // the arena or the stack could not be mapped
};

struct RunResult {
  RunState state;
  uint32_t arena_exhausted;
  uint32_t fault_signal;    // SIGSEGV and the like; 0: none
  uint32_t stack_overflow;  // the fault was at the stack's end
  int32_t exit_status;      // of kExited
  uint32_t is_over;         // the child has stopped, for its host to kill
  int32_t line;             // of the snippet in Python, of an exception; 0: unknown
  uint32_t is_set_up;       // it has reported that it is now preparing its text
  uint32_t steady;
  uint32_t repeats;        // it is steady only if `trace` is the same in so many other processes
  uint32_t changes_state;  // as Evidence::changes_state()
  uint64_t trace;          // as Evidence::trace()
  uint64_t iterations;     // of each block
  uint64_t warmup;         // iterations before the first of the blocks
  uint64_t blocks;
  BlockTotals last[2];       // the last two blocks, in order; if it is not steady, the first of
                             // them is the one that differs most from the last
  Events doubled;            // of a block of twice the iterations after them; all 0: not counted
  char event_names[256];     // "Ir Dr Dw", as many as have a meaning
  uint64_t peak_bytes;       // above the start of an iteration
  uint32_t followed;         // the iterations of the block whose calls were noted; 0: none
  uint32_t profile_part;     // the profile's number; 0: there is none
  uint64_t memory_at_start;  // taken when the snippet began (memory_taken_by)
  char text[16 * 1024];      // of an exception
};

struct RunRequest {
  instr_snippet snippet = nullptr;
  int threads = 1;
  std::optional<uint64_t> warmup;  // iterations; absent: adapt
  uint64_t iterations = 0;         // of each block; 0: adapt
  uint64_t memory_limit = 0;       // bytes; 0: no limit
  bool is_judged = true;           // whether the count comes out again is looked into
  bool is_rehearsal = false;       // nothing is collected or written
  bool want_profile = true;        // of the last block
  bool follow_calls = false;       // and a last block of which the interpreter's calls are noted
  bool cache_sim = false;          // Callgrind simulates caches,
  bool branch_sim = false;         // and a branch predictor
  bool instrument_late = false;    // instrumentation is off until something is to be counted
  bool has_host = true;            // this process is its child
  RunResult* result = nullptr;     // shared with the host
};

// The folder of Callgrind's files, under a name of fixed length wherever it is.
std::string work_folder();

// Sets the process up (arena, stack, signals, LibTorch's state), runs the snippet and fills the
// result. Afterwards this process can only end, or count the empty loop.
void run_snippet(const RunRequest& request);

// Does everything that run_snippet() does, except for counting, and undoes it, so that the code is
// already translated in later forks. For a snippet that leaves nothing behind.
void rehearse_run(const RunRequest& request);

// The same request for the empty loop, to be counted once for all snippets of a unit.
RunRequest empty_loop_request(const RunRequest& like, instr_snippet empty);

struct EmptyLoop {
  Events events{};        // per iteration; no instructions: could not be counted
  uint64_t entry_ir = 0;  // of a block, on top of its iterations
  uint64_t allocs = 0;    // of a block, like the following
  uint64_t alloc_bytes = 0;
  uint64_t peak_bytes = 0;
};

// The results of a run of the empty snippet.
EmptyLoop empty_loop_of(const RunResult& result);

// Counts the empty loop in a process in which run_snippet() has returned.
EmptyLoop count_empty_loop(const RunRequest& request, instr_snippet empty);

// Ends the process of run_snippet(): stops it and leaves it to its host to kill, since for a
// process that ends by itself Callgrind writes a last profile, which takes milliseconds.
[[noreturn]] void end_run();

// Whether new threads of this process are also to be counted: true once run_snippet() has begun.
bool counts_new_threads();
// Called by the pthread_create wrapper; from the first one on, blocks must discard events of
// threads between them.
void note_new_thread();
bool has_other_threads();
// Waits until the other threads sleep: new ones of a pool may spin for a long while first
// (XNNPACK's a million times), which would be counted. False if one still does after some seconds
// of CPU time.
bool settle_threads();

}  // namespace instr
