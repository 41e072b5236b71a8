// The text of --help. Laid out by hand for 80 columns; a test holds it against the parser.
#include "core/options.h"

namespace instr {

std::string help_text() {
  return R"(instr_bench: exact instruction counts of small LibTorch snippets, in seconds.

Usage: instr_bench [run|list|watch|doctor] [options]

Commands
  run                     measure and report (what happens with no command)
  list                    print the keys of the benchmarks, one a line
  watch                   stay ready; measure again what a saved file changes
  doctor                  say what is here, what is missing, how to fix it

What to measure
  --filter=REGEX          keys in which REGEX is found; repeat it for more
  --exclude=REGEX         but not these; repeatable
  --definitions=PATH      a TOML file or a folder of them; repeatable
                          (without it: the standard set)
  --runtime=LIST          eager, torchscript
  --autograd=LIST         forward, forward_backward
  --threads=LIST          numbers of threads, such as 1,2
  --device=LIST           cpu, cuda
  --tag=LIST              benchmarks with one of these tags

How to measure
  -j, --jobs=N            cores to use (without it: all)
  --timeout=SECONDS       the longest that one benchmark may take
  --retries=N             tries again after a lost worker (2)
  --isolation=HOW         fork: from a warm process (the usual way);
                          process: a fresh Valgrind each, slow, to cross-check
  --libtorch=DIR          the LibTorch to measure (without it: TORCH_DIR,
                          CMAKE_PREFIX_PATH, the active Python's, the system's)
  --compiler=PROGRAM      the C++ compiler (without it: clang++, else g++)
  --no-cache              compile everything anew, keep nothing
  --reverse               the last one first (the counts do not depend on it)
  --churn=N               allocate N blocks in the worker first (nor on this)

What to show and keep
  --format=FORMAT         table, markdown, json, jsonl, csv
  --metrics=LIST          ir, allocs, alloc_bytes, peak_bytes
  -o, --output=FILE       store the results in FILE (JSON Lines), one by one
  --keep-profiles=DIR     keep Callgrind's profiles, for kcachegrind
  --dry-run               say what would be measured, and measure nothing
  --list                  the same as the command list
  -q, --quiet             no progress
  -v, --verbose           a line for each finished measurement
  --color=WHEN            auto, always, never
  --version               print the version
  -h, --help              print this

LIST is one or more values with commas between; options may be repeated.
Results go to standard output, progress and messages to standard error.

Examples
  instr_bench --filter=matmul
  instr_bench --filter='^nn/' --runtime=eager --output=before.jsonl
  instr_bench --definitions=mine.toml --format=markdown
  instr_bench watch --definitions=mine.toml
  instr_bench list --exclude=t2/

Exit status
  0 all well; 1 something could not be measured; 2 wrong usage, definition or
  set-up; 130 interrupted, with the results so far kept
)";
}

}  // namespace instr
