// The wire format between coordinator and worker: one message per line, tab-separated fields,
// values percent-escaped. Shared by both sides, depends only on the standard library.
#pragma once

#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace instr::wire {

// Part of the fingerprint. Increment it with each change of the worker that may change a count: the
// allocator, a zygote's warm-up, the plan of blocks, the environment.
inline constexpr const char* kWorkerVersion = "22";

// A worker's descriptors besides the standard ones. It gets no paths, whose lengths would show in
// its heap.
inline constexpr int kControlFd = 3;  // requests and replies
inline constexpr int kWorkFolderFd = 4;
inline constexpr int kProgramFolderFd = 5;  // the worker's own folder, if it also contains units
inline constexpr int kValgrindToolsFd = 6;  // the folder of a Valgrind that was moved
inline constexpr int kTestsFolderFd = 7;    // the top folder of the tests, if tests are counted
inline constexpr int kTestsFileFd = 8;      // the list of these tests
// The folder of the snippet that runs, by a number that no snippet's own descriptor has: programs
// that it starts have it, too, since it is their path to the folder.
inline constexpr int kSnippetFolderFd = 101;

// Names in the work folder: kProfilePrefix, the process id, and "." with a profile's number, ".log"
// or one of these suffixes.
inline constexpr const char* kProfilePrefix = "profile.";
inline constexpr const char* kFollowedSuffix = ".followed";  // the calls of an interpreter, as JSON
inline constexpr const char* kDeviceCallersSuffix = ".device_callers";
inline constexpr const char* kDeviceSuffix = ".device";  // what an iteration asked of a device
inline constexpr const char* kLoadedSuffix = ".loaded";  // files whose code was loaded

// Collisions of addresses may add one in so many instructions to a block of a steady count.
inline constexpr int kCollisions = 1000;

// The link to LibTorch's libraries, in the folder in which the worker is started.
inline constexpr const char* kLibraryLink = "libtorch";

// A field of each request that its reply repeats, so that a snippet's writes to the worker's
// descriptor are not mistaken for replies.
inline constexpr const char* kToken = "token";

using Fields = std::map<std::string, std::string>;

// Requests (coordinator to worker), each with a reply:
//   fork                      + a socket as ancillary data (SCM_RIGHTS): forks a process that
//   serves
//                             this protocol on that socket -> forked pid
//   warm_up kind              makes this process a zygote of this kind (torch_side.h) -> warmed_up
//   load    path              loads a unit into this process -> loaded | failed kind message
//   measure symbol threads warmup iterations timeout_ms memory_limit want_profile fork follow_calls
//                             Without warmup, or with iterations=0, the worker adapts it.
//                             once=1: counts one iteration after the warm-up, and another process
//                             must count the same.
//                             want_profile=0: keeps no profile.
//                             timeout_ms: of CPU time, or idle (worker/cpu_watch.h).
//                             fork=0: measures in this process, which then ends.
//                             cache_sim, branch_sim: 1 if Callgrind was started with these.
//                             follow_calls=1: notes an interpreter's calls in an additional block.
//                             knows_loop=1: does not count the empty loop.
//                             -> measured | failed kind message
//   churn   blocks            allocates so many blocks and frees half of them -> churned
//   quit                      -> bye
// Requests to the native worker, which it serves in a child:
//   time    symbols device threads repetitions min_time warm_up iterations cores memory_limit
//           timeout_ms: times these snippets alternately
//             -> all 0 1 ... (each timed or failed) | failed kind message
//   start   the same, with a single symbol: times its start -> started first_result ready (ns)
//             ready_cpu (ns of CPU time, of the process and those it started)
//             [graphs graph_breaks frames frames_compiled guard_failures recompilations compiler]
//             `compiler` is JSON (core/measure/parse_reply.h); [ready_TOTAL: each of a device's]
//   experiment  as time: also measures memory and profiles. With cold=1 it times the start of the
//             last snippet. With eager and candidate, as for verify, it verifies the last snippet
//             -> all 0 1 ... (each experimented or failed) [verification (the reply to verify)]
//              | failed kind message [so_far (all 0 1 ..., if the verification failed)]
//   inspect as start -> inspected graph optimized_graph events counters, and log_NAME for each of
//             the compiler's logs. An event is a line "start duration thread device name", in ns;
//             counters are graphs fused fallbacks bailouts. With repetitions above 1, also 1 2 ...
//             (each inspected: the events and metrics of another iteration)
//   verify  eager candidate (symbols) device threads dtype allowed memory_limit timeout_ms: runs
//           both and compares their results
//             -> compared 0 1 ... | raised by message | nondeterministic name
//              | nothing message | failed kind message stage
// Requests that run snippets have compiler=1 if a compiler of whole functions will run, and then
// compiler_cache (the folder of its cache; absent: the usual one) and compiler_logs (to be kept).
// On start the worker sends `hello` with version, abi, libtorch_version, cpu_capability, ...
// measured: iterations warmup steady blocks ir_1 ir_2 (instructions of the last two blocks)
//           double_ir (of a block of twice the iterations; 0: not counted): gives the cost of
//           entering a block, which depends on the registers that a snippet uses
//           loop_ir loop_entry_ir (the empty loop's, per iteration and for entering a block)
//           events ("Ir Dr Dw": all that Callgrind counted) events_2 double_events (their totals)
//           loop_events (the empty loop's, per iteration)
//           compile_ir (of ir_2: executed while the interpreter's compiler ran)
//           loop_allocs loop_alloc_bytes loop_peak_bytes (the empty loop's, of a block)
//           allocs_1 allocs_2 alloc_bytes_1 alloc_bytes_2 (totals of a block) peak_bytes
//           profile (the last block's file, in the work folder; empty: not written) output (the
//           end of the snippet's output) followed followed_iterations (if calls were followed:
//           the file with them, and the iterations of their block) loaded (the file that lists the
//           libraries and modules loaded) device_events (the file that lists what an iteration
//           asked of CUDA's stand-ins) device_callers (Valgrind's log with the callers of these)
// timed:    wall cpu (ns) and each requested event, all per iteration and as a list by repetition;
//           iterations [device_peak_bytes] [others]; if a compiler's device ran the snippet, what
//           a repetition added to its totals, likewise: xla_wait xla_compile_time xla_execute_time
//           (ns) xla_compilations xla_executions
// experimented: the fields of timed, of started if the start was timed, peak_bytes operators_cpu
//           operators_device (ns) counters, and with wants_events=1 events
// failed:   kind (a name of FailureKind) message; part (setup or statement, if either ran) and
//           snippet (the number of the one that ran); line (of the snippet in Python that raised an
//           exception, as compile_snippets.py counts them)
// compared: a message for each tensor, the output first: name ("": the output) eager_type
//           eager_shape eager_device; type shape device, or otherwise (a description); if the two
//           have one type, shape and device, exceeds difference allowed at value eager_value
//           cosine; if a run in double precision was possible, reference_error
//           eager_reference_error atol, the root mean squares reference_rmse eager_reference_rmse,
//           and the count of values
struct Message {
  std::string verb;
  Fields fields;

  std::string get(const std::string& name, const std::string& fallback = "") const {
    const auto it = fields.find(name);
    return it == fields.end() ? fallback : it->second;
  }
};

inline std::string escape(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '%' || c == '\t' || c == '\n' || c == '\r' || c == '=' || c == '\0') {
      char hex[4];
      std::snprintf(hex, sizeof hex, "%%%02X",
                    static_cast<unsigned>(static_cast<unsigned char>(c)));
      out += hex;
    } else {
      out += c;
    }
  }
  return out;
}

inline int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

inline std::optional<std::string> unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    int high = hex_digit(text[i + 1]);
    int low = hex_digit(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

// Returns a line, with its newline.
inline std::string encode(const Message& message) {
  std::string line = message.verb;
  for (const auto& [name, value] : message.fields) line += "\t" + name + "=" + escape(value);
  return line + "\n";
}

// Reads a line without its newline; nothing if it is malformed.
inline std::optional<Message> decode(std::string_view line) {
  Message message;
  std::size_t end = line.find('\t');
  message.verb = line.substr(0, end);
  if (message.verb.empty()) return std::nullopt;
  while (end != std::string_view::npos) {
    line.remove_prefix(end + 1);
    end = line.find('\t');
    const std::string_view field = line.substr(0, end);
    const std::size_t equals = field.find('=');
    if (equals == std::string_view::npos || equals == 0) return std::nullopt;
    auto value = unescape(field.substr(equals + 1));
    if (!value) return std::nullopt;
    message.fields[std::string(field.substr(0, equals))] = *value;
  }
  return message;
}

// Reads a line of encode(); nothing if its newline is missing, since a truncated line may still
// read as a message.
inline std::optional<Message> decode_line(std::string_view line) {
  if (line.empty() || line.back() != '\n') return std::nullopt;
  line.remove_suffix(1);
  return decode(line);
}

}  // namespace instr::wire
