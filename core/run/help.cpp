// The text of --help. Laid out by hand for 80 columns; a test holds it against the parser.
#include "core/run/options.h"

namespace instr {

namespace {

constexpr const char* kGeneral =
    R"(instr_bench: exact instruction counts of small LibTorch snippets, in seconds.

Usage: instr_bench [COMMAND] [options]

Commands (instr_bench COMMAND --help tells more of those marked *)
  run                     measure and report (what happens with no command)
  list                    print the keys of the benchmarks, one a line
  watch                   stay ready; measure again what a saved file changes
  explain KEY *           where a single count goes, function by function
  compare BASE NEW *      what changed between two results, in which function
  ab *                    measure two LibTorch builds, builds of your library or
                          compilers, and compare them
  baseline *              list, show or remove the baselines that --save made
  merge FILE... *         make the results of shards one
  bisect *                for git bisect run: the commit that made it slower
  experiment [FILE] *     backends, tests, data types ... over the definitions
  selftest *              plant slow-downs and show that the check finds them
  plot NAME|FILE *        a picture of results, as SVG
  doctor                  say what is here, what is missing, how to fix it

What to measure
  --filter=PATTERN        what has it in its key or its name as tables show it:
                          a regular expression, a glob or text; repeatable
  --exclude=PATTERN       but not these; repeatable
  --definitions=PATH      a TOML file or a folder of them; repeatable
                          (without it: the standard set)
  --runtime=LIST          eager, torchscript; when named also frozen, optimized,
                          fused, unfused (other ways to run TorchScript), aoti
                          (AOTInductor packages), cuda_graph; or all
  --autograd=LIST         forward, forward_backward
  --threads=LIST          numbers of threads, such as 1,2
  --device=LIST           cpu, cuda
  --tag=LIST              benchmarks with one of these tags
  --shard=I/N             the I-th of N parts of them; see merge

How to measure
  -j, --jobs=N            cores to use (without it: all)
  --timeout=SECONDS       the longest that one benchmark may take
  --retries=N             tries again after a lost worker (2)
  --repetitions=N         how often a benchmark is timed (10)
  --min-time=SECONDS      how long each repetition takes at least (0.05)
  --time-cores=N          N cores do nothing but time while the others count
                          (without it times come after the counts)
  --verify                check what other runtimes compute against eager: PASS,
                          FAIL, ... stand in the results and the table
  --isolation=HOW         fork: from a warm process (the usual way);
                          process: a fresh Valgrind each, slow, to cross-check
  --libtorch=DIR          the LibTorch to measure (without it: TORCH_DIR,
                          CMAKE_PREFIX_PATH, the active Python's, the system's)
  --compiler=PROGRAM      the C++ compiler (without it: clang++, else g++)
  --build=FILE            a TOML file whose [build] takes the definitions' place
  --no-cache              compile everything anew, keep nothing
  --reverse               the last one first (the counts do not depend on it)
  --churn=N               allocate N blocks in the worker first (nor on this)

What to show and keep
  --format=FORMAT         table, markdown, json, jsonl, csv, junit; and of
                          counts alone: gbench, bencher, smaller-is-better
  --show-keys             rows are full keys, one measurement a line
  --metrics=LIST          ir, allocs, alloc_bytes, peak_bytes; simulated: cache,
                          branch, or some of theirs, such as d1_misses;
                          without Valgrind: wall, cpu, device_peak_bytes,
                          first_result, ready
  -o, --output=FILE       store the results in FILE (JSON Lines), one by one
  --save=NAME             make them the baseline NAME
  --keep-profiles=DIR     keep Callgrind's profiles, for kcachegrind
  --dump=LIST             graph (TorchScript's, before and after optimising),
                          profile (times by operator), trace (for Perfetto)
  --dump-folder=DIR       where, a folder for each benchmark (instr_bench_dump)
  --dry-run               say what would be measured, and measure nothing
  --list                  the same as the command list
  -q, --quiet             no progress
  -v, --verbose           a line for each finished measurement
  --color=WHEN            auto, always, never
  --version               print the version
  -h, --help              print this

What to hold it against (compare and ab take these, too)
  --baseline=NAME|FILE    compare with this baseline or results file
  --expect=FILE           compare with expected counts (CSV or TOML)
  --update-expected       write what was counted into that file
  --limit=LIMITS          how far a metric may grow before the check fails, such
                          as ir=0.5%|+200 or allocs=+0; repeatable. Without it:
                          ir=0.5%, allocs=+0, alloc_bytes=0.5%, peak_bytes=0.5%
  --soft-limit=LIMITS     how far before it warns (ir=0.1%, alloc_bytes=+0,
                          peak_bytes=+0)
  --limits=FILE           limits by patterns of keys (TOML)
  --base-limits=FILE      that file as it is at the base: it holds for each key
                          that the base has
  --vary=LIST             what may differ between the two: libtorch, compiler,
                          valgrind, cpu, worker, libraries, or a field of the
                          fingerprint
  --show-same             rows without a difference, too
  --allow-missing         benchmarks may be gone
  --allow-incomplete      results may be of a run that did not finish
  --allow-failed          benchmarks may fail
  --allow-not-comparable  a metric may be lost, a count need not be steady
  --allow-nothing         there may be nothing to compare
  --forbid-new            benchmarks that have no baseline fail

LIST is one or more values with commas between; options may be repeated.
Results go to standard output, progress and messages to standard error.

Examples
  instr_bench --filter=matmul
  instr_bench --save=main            before a change, and after it:
  instr_bench --baseline=main
  instr_bench --definitions=mine.toml --format=markdown
  instr_bench watch --definitions=mine.toml

Exit status
  0 all well; 1 something could not be measured; 2 wrong usage, definition or
  set-up, or results that cannot be compared; 3 a regression beyond its limit,
  or a benchmark gone; 130 interrupted, with the results so far kept; 141 nobody
  reads the output any more (| head)
)";

constexpr const char* kCompare = R"(Usage: instr_bench compare BASE NEW [options]

Compares two results: each a file that --output wrote, or the name of a baseline
that --save made. Every difference is shown, what matters most first, with the
functions that it is in; the limits decide what fails.

  --filter, --exclude, --runtime, --autograd, --threads, --device, --tag
                          compare these alone
  --limit, --soft-limit, --limits, --base-limits, --vary, --forbid-new,
  --allow-...             as for a run with --baseline: instr_bench --help
  --format=FORMAT         table, markdown, json, jsonl, csv, junit

Exit status
  0 within the limits; 2 they cannot be compared; 3 beyond a limit
)";

constexpr const char* kBaseline = R"(Usage: instr_bench baseline list
       instr_bench baseline show NAME|FILE [--filter=PATTERN] [--format=FORMAT]
                                 [--show-keys] [--allow-incomplete]
       instr_bench baseline remove NAME...

Baselines are results files that instr_bench --save=NAME wrote, in the folder
.instr_bench/baselines of the project (the nearest folder, upwards from here,
that has .instr_bench or .git), or in INSTR_BENCH_BASELINES where that is set.
Commit one, or keep the folder in a CI cache. show prints any results file in
any format.
)";

constexpr const char* kExplain = R"(Usage: instr_bench explain KEY [NAME|FILE] [options]

Says where a single count goes: the functions by their self cost, in
instructions for each iteration. Measures it, or takes it from a baseline or
results file.

  --top=N                 functions to show (25)
  --allow-incomplete      the file may be of a run that did not finish
  --definitions, --libtorch, --compiler, --build, --keep-profiles
                          as for a run: instr_bench --help
)";

constexpr const char* kAb = R"(Usage: instr_bench ab --libtorch=A --libtorch=B [options]
       instr_bench ab --build=base.toml --build=new.toml --definitions=mine.toml
       instr_bench ab --compiler=g++ --compiler=clang++

Measures the same definitions with two LibTorch builds, two builds of your own
library (files with a [build] table each) or two compilers, counts side by side
and times in turns, and compares them. Takes the options of a run and compare.

  -o, --output=FOLDER     keep both results there, as a.jsonl and b.jsonl

Exit status
  0 B is within the limits of A; 2 set-up; 3 beyond a limit
)";

constexpr const char* kMerge = R"(Usage: instr_bench merge FILE... --output=FILE [options]

Makes the results of a run's shards (--shard=1/4 to --shard=4/4) one file, the
same as that of a run without shards. All shards must be there, complete, and
measured alike.

  --allow-missing         not all shards need be there
  --allow-incomplete      nor all of what one was to measure; with either of
                          these the merged file is incomplete, too
  --vary=LIST             what may differ between them
)";

constexpr const char* kBisect =
    R"(Usage: git bisect run instr_bench bisect --key=KEY --baseline=NAME [options]
           [-- COMMAND...]

Finds the commit that made a benchmark slower. For each commit COMMAND builds
what is measured; then the benchmark is counted and compared with the baseline,
which was made at the good commit by instr_bench --filter=KEY --save=NAME.

  --key=KEY               the one benchmark to look at
  --limit=LIMITS          how far it may grow, such as ir=+0: instr_bench --help
  --vary=LIST             libtorch, where that is what the commits change

Exit status, as git bisect run takes it
  0 good; 1 bad; 125 this commit cannot be built or measured; 130 interrupted
)";

constexpr const char* kExperiment = R"(Usage: instr_bench experiment [FILE.toml] [options]

Measures the product of the axes below over the definitions: each experiment is
verified and timed in a fresh process, and is a line of the results file, from
which the same command goes on when it was stopped. Ends with a summary of each
backend. FILE has the same names (batch_size, iterations_per_run); options go
before it.

  --accelerator=LIST      cpu, cuda (without it: what the definitions say)
  --backend=LIST          eager, torchscript, frozen, optimized, fused, unfused,
                          aoti, cuda_graph (without it: all); eager is always
                          among them
  --test=LIST             eval (forward), train (and backward); without it: both
  --dtype=LIST            float32, float64, float16, bfloat16: of what a snippet
                          makes without naming one (float32)
  --threads=LIST          instead of what the definitions say
  --batch-size=LIST       the same, of definitions with a parameter batch_size
  --repeat=N              runs that are timed (10)
  --iterations-per-run=N  without it: as many as --min-time takes (0.05)
  --timeout=SECONDS       the longest that one experiment may take
  --filter, --exclude, --tag, --definitions, --libtorch, --compiler
                          as for a run: instr_bench --help
  -o, --output=FILE       the results, a line of JSON each (results.jsonl)
  --format=FORMAT         of the summary: table, markdown
  --dry-run               list the experiments, and run none

Exit status
  0 all well; 1 something failed or computes something else; 2 wrong usage or
  set-up; 130 interrupted, with the results so far kept
)";

constexpr const char* kSelftest =
    R"(Usage: instr_bench selftest [--repeats=N] [--libtorch=DIR] [--compiler=PROGRAM]

Proves the check on this machine: plants slow-downs of known size in a small
library, and shows that each is found and attributed to its function, and that
nothing is raised in N runs (20) of unchanged code with other environments,
folders, orders, numbers of jobs and heaps.

  --repeats=N             runs of unchanged code (20)
  --libtorch, --compiler, --jobs
                          as for a run: instr_bench --help

Exit status
  0 all found and no false alarm; 1 not so; 2 set-up
)";

constexpr const char* kPlot = R"(Usage: instr_bench plot NAME|FILE [--kind=KIND] [options]

Draws results (a file that --output wrote, or a baseline's name) as SVG, with
gnuplot. Without --kind the first of these that there is something to draw for.

  --kind=speedup          how many times as fast as eager the other runtimes
                          are, a bar each, but for what failed verification
  --kind=growth           a metric against a parameter of a definition's matrix,
                          a line for each benchmark and runtime
  --kind=memory           wall time against peak memory, a point for each
  --metrics=METRIC        of growth: the metric (ir)
  --by=PARAM              of growth: the parameter, where there is more than one
  -o, --output=FILE       write the picture there (without it: standard output)
  --allow-incomplete      the results may be of a run that did not finish
  --filter, --exclude, --runtime, --autograd, --threads, --device, --tag
                          draw these alone

Exit status
  0 drawn; 2 nothing to draw, or no gnuplot; 130 interrupted
)";

}  // namespace

std::string help_text(Command command) {
  switch (command) {
    case Command::kCompare: return kCompare;
    case Command::kBaseline: return kBaseline;
    case Command::kExplain: return kExplain;
    case Command::kAb: return kAb;
    case Command::kMerge: return kMerge;
    case Command::kBisect: return kBisect;
    case Command::kSelftest: return kSelftest;
    case Command::kExperiment: return kExperiment;
    case Command::kPlot: return kPlot;
    default: return kGeneral;
  }
}

}  // namespace instr
