#include "worker/counted/host.h"

#include <errno.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "worker/abi.h"
#include "worker/children.h"
#include "worker/counted/arena.h"
#include "worker/counted/collected.h"
#include "worker/counted/instrumentation.h"
#include "worker/counted/reply.h"
#include "worker/snippet_confines.h"
#include "worker/torch_side.h"
#include "worker/unit.h"
#include "worker/wire.h"

extern "C" void instr_canary_snippet(instr_context* context);
extern "C" void instr_canary_empty_snippet(instr_context* context);

namespace instr {
namespace {

int add_name(dl_phdr_info* info, size_t, void* text) {
  *static_cast<std::string*>(text) += std::string(info->dlpi_name) + "\n";
  return 0;
}

// Returns the path without the descriptor by which the worker's own folder is named.
std::string resolved(const std::string& path) {
  const std::string folder = "/proc/self/fd/" + std::to_string(wire::kProgramFolderFd);
  if (!path.starts_with(folder + "/")) return path;
  char target[PATH_MAX];
  const ssize_t size = readlink(folder.c_str(), target, sizeof target);
  if (size < 0) return path;
  return std::string(target, static_cast<size_t>(size)) + path.substr(folder.size());
}

// Writes the paths of the files whose code this process has loaded, shared objects and, of an
// interpreter, modules, to a file in the work folder, one per line. To be called once everything is
// counted. Returns false if they could not be written.
bool write_loaded_files() {
  std::string names = torch_side::loaded_modules() + "\n";
  dl_iterate_phdr(add_name, &names);
  const std::string path =
      work_folder() + "/" + wire::kProfilePrefix + std::to_string(getpid()) + wire::kLoadedSuffix;
  FILE* file = fopen(path.c_str(), "we");
  if (file == nullptr) return false;
  for (size_t at = 0; at < names.size();) {
    const size_t end = names.find('\n', at);
    const std::string name = resolved(names.substr(at, end - at));
    if (name.starts_with('/')) fprintf(file, "%s\n", name.c_str());
    at = end + 1;
  }
  return fclose(file) == 0;
}

constexpr uint32_t kMaxParts = 64;  // more profiles than a child writes

std::string profile_name(pid_t pid) { return wire::kProfilePrefix + std::to_string(pid); }

// Removes a process's log, the file that Callgrind opens at its first dump, and dumps up to
// `parts`.
void drop_files(const RunRequest& run, pid_t pid, uint32_t parts) {
  if (run.is_rehearsal) return;
  std::string profile = work_folder() + "/" + profile_name(pid);
  unlink((profile + ".log").c_str());
  unlink(profile.c_str());
  if (parts != 0) unlink((profile + wire::kLoadedSuffix).c_str());
  for (uint32_t part = 1; part <= parts; ++part) {
    unlink((profile + "." + std::to_string(part)).c_str());
  }
}

// Allows Valgrind's memory and stacks besides the heap, which enforces the limit itself.
SnippetLimits limits_of(const RunRequest& run) {
  constexpr uint64_t kForValgrind = uint64_t{512} << 20;
  constexpr uint64_t kStack = 8 << 20;
  return {.bytes = run.memory_limit,
          .before = run.result->memory_at_start,
          .beside = kForValgrind + kStack * static_cast<uint64_t>(run.threads)};
}

// The name of the kept profile, or an empty text.
std::string kept_profile(pid_t pid, const RunResult& result) {
  if (result.profile_part == 0) return "";
  return profile_name(pid) + "." + std::to_string(result.profile_part);
}

uint64_t number(const wire::Message& message, const char* name) {
  return strtoull(message.get(name, "0").c_str(), nullptr, 10);
}

void skip_process_number() {
  const pid_t pid = fork();
  if (pid == 0) end_process();
  if (pid > 0) waitpid(pid, nullptr, 0);
}

// Adds the name of the file that write_followed() made, if any.
void add_followed(wire::Message& reply, const RunResult& result, const Ended& ended) {
  if (result.followed == 0) return;
  reply.fields["followed"] = profile_name(ended.pid) + wire::kFollowedSuffix;
  reply.fields["followed_iterations"] = std::to_string(result.followed);
}

// Notes which files were loaded, once all is counted.
void note_loaded(const RunRequest& run) {
  const bool is_counted = run.result->state == RunState::kFinished && !run.is_rehearsal;
  if (is_counted && run.wants_loaded) run.result->has_loaded = write_loaded_files() ? 1 : 0;
}

// Adds the name of the file that note_loaded() made, if any.
void add_loaded(wire::Message& reply, const RunResult& result, pid_t pid) {
  if (result.has_loaded != 0) reply.fields["loaded"] = profile_name(pid) + wire::kLoadedSuffix;
}

std::string cpu_features() {
  std::string text;
  auto add = [&text](const char* name, bool has) {
    if (has) text += (text.empty() ? "" : " ") + std::string(name);
  };
  add("sse4.2", __builtin_cpu_supports("sse4.2"));
  add("avx", __builtin_cpu_supports("avx"));
  add("avx2", __builtin_cpu_supports("avx2"));
  add("fma", __builtin_cpu_supports("fma"));
  add("bmi2", __builtin_cpu_supports("bmi2"));
  add("avx512f", __builtin_cpu_supports("avx512f"));
  return text;
}

wire::Message hello() {
  return {"hello",
          {{"version", wire::kWorkerVersion},
           {"abi", std::to_string(INSTR_ABI_VERSION)},
           {"libtorch_version", torch_side::version()},
           {"cpu_capability", torch_side::cpu_capability()},
           {"cpu_features", cpu_features()},
           {"valgrind", RUNNING_ON_VALGRIND ? "1" : "0"}}};
}

// Starts a thread: before a process's first one, libstdc++ and glibc count references without
// atomics, and LibTorch starts none on a machine with one core.
void start_thread() {
  pthread_t thread;
  const auto nothing = [](void*) -> void* { return nullptr; };
  if (pthread_create(&thread, nullptr, nothing, nullptr) == 0) pthread_join(thread, nullptr);
}

}  // namespace

void Host::serve() {
  adopt_orphans();
  while (auto request = channel_.receive()) {
    wire::Message reply = answer(*request);
    if (!channel_.send(reply) || reply.verb == "bye") break;
  }
  if (has_unit_) remove_snippet_folder();
  end_process();
}

wire::Message Host::answer(const wire::Message& request) {
  if (request.verb == "fork") return fork_host();
  if (request.verb == "warm_up") return warm_up(request);
  if (request.verb == "load") return load(request.get("path"));
  if (request.verb == "measure") return measure(request);
  if (request.verb == "churn") return churn(number(request, "blocks"));
  if (request.verb == "quit") return {"bye", {}};
  return failed("worker_lost", "the worker does not know the request '" + request.verb + "'");
}

wire::Message Host::fork_host() {
  int fd = channel_.take_descriptor();
  if (fd < 0) return failed("worker_lost", "a fork request came without a socket");
  has_hosts_ = true;
  pid_t pid = fork_server(fd, [] { Host(wire::kControlFd).serve(); });
  if (pid < 0) return failed("worker_lost", std::string("fork: ") + strerror(errno));
  return {"forked", {{"pid", std::to_string(pid)}}};
}

// Changes the history of the heap, for tests: counts must not depend on it.
wire::Message Host::churn(uint64_t blocks) {
  std::minstd_rand random;
  std::vector<void*> freed;
  for (uint64_t i = 0; i < blocks; ++i) {
    void* block = malloc(1 + random() % 5000);
    if (random() % 2 == 0) freed.push_back(block);
  }
  for (void* block : freed) free(block);
  return {"churned", {}};
}

wire::Message Host::load(const std::string& path) {
  if (has_unit_) return failed("worker_lost", "this host has loaded a unit already");
  // A unit's constructors are its author's code, too.
  channel_.move_out_of_reach();
  if (auto problem = enter_snippet_folder(); !problem.empty()) {
    return failed("worker_lost", problem);
  }
  if (auto problem = load_unit(path); !problem.empty()) return failed("definition_error", problem);
  has_unit_ = true;
  return {"loaded", {}};
}

// Switches instrumentation on, so that all forks inherit the translations, unless they are to start
// it themselves.
wire::Message Host::warm_up(const wire::Message& request) {
  const std::string kind = request.get("kind");
  show_device(kind.ends_with("cuda"));
  torch_side::import_for(kind.c_str());
  if (request.get("instrument_late", "0") == "0") start_instrumentation();
  torch_side::warm_up(kind.c_str());
  rehearse();
  return {"warmed_up", {}};
}

// Measures a snippet without counting, so that later forks have this code translated.
void Host::rehearse() {
  RunRequest run;
  run.snippet = torch_side::rehearsed_snippet();
  if (run.snippet == nullptr) run.snippet = instr_canary_snippet;
  run.is_rehearsal = true;
  run.result = result();
  if (run.result == nullptr) return;
  rehearse_run(run);
  if (write_loaded_files()) {
    unlink((work_folder() + "/" + profile_name(getpid()) + wire::kLoadedSuffix).c_str());
  }
  ChildOutput output;
  CpuLimits left{1000, 1000};
  Ended ended = in_child(run, left, output);
  make_reply(run, *run.result, ended, output.text(), "");
}

RunResult* Host::result() {
  if (result_ != nullptr) return result_;
  void* page =
      mmap(nullptr, sizeof(RunResult), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
  return result_ = static_cast<RunResult*>(page);
}

// Reads the fields of a `measure` request.
RunRequest Host::read_request(const wire::Message& request) {
  RunRequest run;
  run.threads = std::max(1, static_cast<int>(number(request, "threads")));
  run.has_device = request.get("device", "cpu") != "cpu";
  if (request.fields.contains("warmup")) run.plan.warmup = number(request, "warmup");
  run.plan.iterations = number(request, "iterations");
  run.plan.is_once = request.get("once", "0") == "1";
  run.plan.is_judged = request.get("judged", "1") == "1" && run.threads == 1;
  run.plan.follow_calls = request.get("follow_calls", "0") == "1";
  run.memory_limit = number(request, "memory_limit");
  run.want_profile = request.get("want_profile", "1") == "1";
  run.cache_sim = request.get("cache_sim", "0") == "1";
  run.branch_sim = request.get("branch_sim", "0") == "1";
  run.plan.is_simulated = run.cache_sim || run.branch_sim;
  run.instrument_late = request.get("instrument_late", "0") == "1";
  run.has_host = request.get("fork", "1") != "0";
  run.result = result();
  return run;
}

wire::Message Host::measure(const wire::Message& request) {
  if (has_hosts_) return failed("worker_lost", "a worker that has forked hosts cannot measure");
  const std::string symbol = request.get("symbol");
  const FoundSnippet code = symbol == "instr_canary_snippet"
                                ? FoundSnippet{instr_canary_snippet, instr_canary_empty_snippet}
                                : find_snippet(symbol);
  if (code.snippet == nullptr || code.empty == nullptr) {
    return failed("definition_error", "the unit has no '" + symbol + "', or no empty loop");
  }
  RunRequest run = read_request(request);
  run.snippet = code.snippet;
  if (run.result == nullptr) return failed("worker_lost", "no memory for the result");
  if (auto problem = !has_unit_ ? "" : enter_snippet_folder(); !problem.empty()) {
    return failed("worker_lost", problem);
  }
  const bool is_first_call = run.plan.is_once && run.plan.warmup.value_or(0) == 0;
  const bool follows_later = is_first_call && std::exchange(run.plan.follow_calls, false);
  if (!run.has_host) measure_here(run, code.empty);

  ChildOutput output;
  const auto limit_ms = static_cast<int64_t>(number(request, "timeout_ms"));
  CpuLimits left = limit_ms == 0 ? CpuLimits{} : CpuLimits{limit_ms, limit_ms};
  Ended ended = in_child(run, left, output);
  const RunResult got = *run.result;
  wire::Message reply = make_reply(run, got, ended, output.text(), kept_profile(ended.pid, got));
  if (ended.pid < 0) return failed("worker_lost", std::string("fork: ") + strerror(errno));
  add_followed(reply, got, ended);
  if (got.has_device_events != 0) {
    reply.fields["device_events"] = profile_name(ended.pid) + wire::kDeviceSuffix;
    reply.fields["device_callers"] = profile_name(ended.pid) + wire::kDeviceCallersSuffix;
  }
  add_loaded(reply, got, ended.pid);
  if (reply.verb != "measured") {
    drop_files(run, ended.pid, kMaxParts);
    return reply;
  }
  if (follows_later) follow_first_call(run, left, reply);
  for (uint32_t i = 0; i < got.repeats && reply.get("steady") == "1"; ++i) {
    // The numbers of the processes are to differ by odd and by even numbers.
    for (uint32_t skipped = 0; skipped < i; ++skipped) skip_process_number();
    count_again(run, left, got, reply);
  }
  if (reply.verb != "measured" || request.get("knows_loop", "0") == "1") return reply;
  return with_loop(std::move(reply), empty_loop(run, code.empty));
}

// Follows the first call of another process.
void Host::follow_first_call(const RunRequest& run, CpuLimits& left, wire::Message& reply) {
  RunRequest again = run;
  again.want_profile = again.wants_loaded = false;
  again.plan.follow_calls = again.plan.only_follow = true;
  *run.result = RunResult{};
  const Ended ended = in_silent_child(again, left);
  add_followed(reply, *run.result, ended);
}

// Counts again in another process: a count that is in doubt must be the same there, block by block.
void Host::count_again(const RunRequest& run, CpuLimits& left, const RunResult& first,
                       wire::Message& reply) {
  RunRequest again = run;
  again.want_profile = again.wants_loaded = false;
  again.plan.follow_calls = false;
  again.plan.is_slow = first.is_slow != 0;
  again.is_repeat = true;
  // Costs that depend on the machine's load, for example, change in this time.
  if (first.repeats > 1) usleep(400'000);
  RunResult& second = *run.result;
  second = RunResult{};  // the result if fork fails
  const Ended ended = in_silent_child(again, left);
  if (const auto cause = find_cause(ended, run.memory_limit)) {
    drop_files(run, ended.pid, kMaxParts);
    reply = *cause;
    return;
  }
  const bool is_finished = second.state == RunState::kFinished;
  const bool is_same = second.trace == first.trace && second.compile_ir == first.compile_ir;
  if (is_finished && is_same) return;
  reply.fields["steady"] = "0";
  if (is_finished && second.iterations == first.iterations) {
    reply.fields["ir_1"] = std::to_string(second.last[1].events.ir());
  }
}

Ended Host::in_child(const RunRequest& run, CpuLimits& left, ChildOutput& output) {
  Ended ended = run_in_child(
      [&] {
        close(channel_.fd());
        close(wire::kControlFd);  // the channel may have moved away from it
        limit_file_size(run.memory_limit);
        run_snippet(run);
        note_loaded(run);
        fflush(nullptr);
        end_run();
      },
      output, left, [&run] { return run.result->is_over != 0; },
      [this] { return channel_.hung_up(); },
      [&run](const ProcessTree& tree) { return find_excess(tree, limits_of(run)); });
  // Code after the last block, such as the rest of a test, has ended the process.
  const bool is_cut = run.result->state == RunState::kFinished && run.result->is_over == 0;
  if (is_cut) run.result->state = RunState::kStarted;
  if (left.cpu_ms != INT64_MAX) left.cpu_ms = std::max<int64_t>(left.cpu_ms - ended.cpu_ms, 1);
  if (run.result->state == RunState::kStarted && !run.is_rehearsal) {
    ended.valgrind_words =
        read_valgrind_words(work_folder() + "/" + profile_name(ended.pid) + ".log");
  }
  if (run.result->has_device_events != 0) {
    const std::string profile = work_folder() + "/" + profile_name(ended.pid);
    rename((profile + ".log").c_str(), (profile + wire::kDeviceCallersSuffix).c_str());
  }
  drop_files(run, ended.pid, 0);
  return ended;
}

// Runs in a child whose output nobody reads.
Ended Host::in_silent_child(const RunRequest& run, CpuLimits& left) {
  ChildOutput output;
  return in_child(run, left, output);
}

EmptyLoop Host::empty_loop(const RunRequest& like, instr_snippet empty) {
  EmptyLoop& known = empty_loops_[empty];
  if (known.events.ir() != 0) return known;
  RunRequest run = empty_loop_request(like, empty);
  CpuLimits unlimited;
  const Ended ended = in_silent_child(run, unlimited);
  if (ended.pid < 0) return {};
  drop_files(run, ended.pid, kMaxParts);
  return known = read_empty_loop(*run.result);
}

// Measures without a fork, to check the fork server. Switches instrumentation off and on, so that
// Callgrind has no state older than the measurement.
void Host::measure_here(const RunRequest& run, instr_snippet empty) {
  stop_instrumentation();
  if (!run.instrument_late) start_instrumentation();
  ChildOutput output;
  output.drop_excess();
  output.become_standard();
  *run.result = RunResult{};
  run_snippet(run);
  note_loaded(run);
  const RunResult got = *run.result;
  wire::Message reply = make_reply(run, got, {}, "", kept_profile(getpid(), got));
  add_loaded(reply, got, getpid());
  if (reply.verb == "measured") {
    reply = with_loop(std::move(reply), count_empty_loop(run, empty));
  }
  channel_.send(reply);
  end_process();
}

void serve() {
  rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  start_thread();
  Host host(wire::kControlFd);
  if (!host.channel().send(hello())) end_process();
  host.serve();
}

}  // namespace instr
