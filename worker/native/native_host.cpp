#include "worker/native/native_host.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <sstream>

#include "worker/abi.h"
#include "worker/children.h"
#include "worker/native/libtorch.h"
#include "worker/native/native_code.h"
#include "worker/native/run_experiment.h"
#include "worker/native/snippet_times.h"
#include "worker/native/verify.h"
#include "worker/snippet_confines.h"
#include "worker/torch_side.h"
#include "worker/unit.h"

namespace instr {
namespace {

// A child's reply in memory that it shares with its host, since a snippet may close descriptors.
// The text is always complete: its size is stored last, since the child may be killed at any time.
class SharedText {
 public:
  SharedText()
      : page_(static_cast<Page*>(mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE,
                                      MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~SharedText() {
    if (is_mapped()) munmap(page_, sizeof(Page));
  }
  SharedText(const SharedText&) = delete;
  SharedText& operator=(const SharedText&) = delete;

  bool is_mapped() const { return page_ != MAP_FAILED; }
  // False if the text is too long; then it becomes empty.
  bool set(const std::string& text) {
    page_->size.store(0);
    if (text.size() > sizeof page_->text) return false;
    memcpy(page_->text, text.data(), text.size());
    page_->size.store(text.size());
    return true;
  }
  // The text, at first empty. A snippet can write here, too: it may not be a message.
  std::string get() const {
    return std::string(page_->text, std::min(page_->size.load(), sizeof page_->text));
  }

 private:
  struct Page {
    std::atomic<std::size_t> size;
    char text[15 << 20];  // less than the coordinator's limit: the host adds fields
  };
  Page* page_;
};

// Returns the limit of what a child may take. Devices reserve address space that they never use.
SnippetLimits limits_for(const wire::Message& request) {
  if (request.get("device", "cpu") != "cpu") return {};
  return {.bytes = strtoull(request.get("memory_limit", "0").c_str(), nullptr, 10),
          .before = memory_taken_by(getpid())};
}

// Makes this process's allocations fail beyond the limit.
void limit_memory(std::uint64_t bytes) {
  if (bytes == 0) return;
  const rlimit limit{bytes, bytes};
  setrlimit(RLIMIT_DATA, &limit);
  limit_file_size(bytes);
}

template <class T>
std::vector<T> split_words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<T> words;
  for (T word; stream >> word;) words.push_back(word);
  return words;
}

// Pins this process to these cores, unless empty.
void pin_to(const std::vector<int>& cores) {
  if (cores.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int core : cores) CPU_SET(core, &set);
  sched_setaffinity(0, sizeof set, &set);
}

double number(const wire::Message& request, const char* name, const char* usual) {
  return strtod(request.get(name, usual).c_str(), nullptr);
}

wire::Message missing(const std::string& symbol) {
  return failed("definition_error", "no unit has '" + symbol + "'");
}

wire::Message time_all(const TimingRequest& request) { return join(time_alternately(request)); }

constexpr const char* kProgress = "progress";  // a child's message before its reply

// Returns the snippet that a child runs according to its last message.
std::optional<std::size_t> find_running(const SharedText& answer) {
  const auto said = wire::decode_line(answer.get());
  if (!said || said->verb != kProgress || !said->fields.contains("snippet")) return std::nullopt;
  return strtoul(said->get("snippet").c_str(), nullptr, 10);
}

// Runs a child, whose progress is in `answer`, within the limits of the request and of each
// snippet.
Ended run_within_limits(const wire::Message& request, const SnippetLimits& limits,
                        const SharedText& answer, ChildOutput& output,
                        const std::function<void()>& body, const std::function<bool()>& abandoned) {
  SnippetTimes times(split_words<std::int64_t>(request.get("timeouts_ms")));
  const auto find = [&](const ProcessTree& tree) {
    const bool is_in_time = times.look(find_running(answer), now_ms(), tree.use());
    return is_in_time ? find_excess(tree, limits) : Excess::kTime;
  };
  const auto timeout_ms = static_cast<std::int64_t>(number(request, "timeout_ms", "9e15"));
  Ended ended = run_in_child(
      body, output, {timeout_ms, timeout_ms}, [] { return false; }, abandoned, find);
  if (ended.excess != Excess::kTime) return ended;
  ended.excess = Excess::kNone;
  ended.stopped = times.verdict();
  ended.limit_ms = times.limit_ms();
  return ended;
}

// Requests that run snippets.
const std::map<std::string, wire::Message (*)(const TimingRequest&)> kTimed{
    {"time", time_all},
    {"start", time_start},
    {"experiment", run_experiment},
    {"inspect", inspect}};

}  // namespace

void NativeHost::serve() {
  adopt_orphans();
  while (auto request = channel_.receive()) {
    wire::Message reply = answer(*request);
    if (!channel_.send(reply) || reply.verb == "bye") break;
  }
  remove_snippet_folder();
  end_process();
}

wire::Message NativeHost::answer(const wire::Message& request) {
  if (request.verb == "load") return load(request.get("path"));
  if (kTimed.contains(request.verb)) return time(request);
  if (request.verb == "verify") return verify(request);
  if (request.verb == "quit") return {"bye", {}};
  if (request.verb != "fork") {
    return failed("worker_lost", "the worker does not know the request '" + request.verb + "'");
  }
  int fd = channel_.take_descriptor();
  if (fd < 0) return failed("worker_lost", "a fork request came without a socket");
  pid_t pid = fork_server(fd, [] { NativeHost(wire::kControlFd).serve(); });
  if (pid < 0) return failed("worker_lost", std::string("fork: ") + strerror(errno));
  return {"forked", {{"pid", std::to_string(pid)}}};
}

wire::Message NativeHost::load(const std::string& path) {
  channel_.move_out_of_reach();
  // A unit's constructors are its author's code, too.
  if (auto problem = enter_snippet_folder(); !problem.empty()) {
    return failed("worker_lost", problem);
  }
  if (auto problem = load_unit(path); !problem.empty()) return failed("definition_error", problem);
  return {"loaded", {}};
}

namespace {

VerificationRequest make_verification(const wire::Message& request) {
  VerificationRequest asked;
  asked.eager = find_code(request.get("eager"));
  asked.candidate = find_code(request.get("candidate"));
  asked.threads = static_cast<int>(number(request, "threads", "1"));
  std::istringstream allowed(request.get("allowed"));
  Allowed limit;
  for (std::string type; allowed >> type >> limit.relative >> limit.absolute;) {
    asked.allowed[type] = limit;
  }
  return asked;
}

}  // namespace

wire::Message NativeHost::time(const wire::Message& request) {
  TimingRequest timing;
  for (const std::string& symbol : split_words<std::string>(request.get("symbols"))) {
    const void* code = find_code(symbol);
    if (code == nullptr) return missing(symbol);
    timing.snippets.push_back(code);
  }
  timing.device = request.get("device", "cpu");
  timing.threads = static_cast<int>(number(request, "threads", "1"));
  timing.repetitions = static_cast<int>(number(request, "repetitions", "10"));
  timing.events = split_words<std::string>(request.get("events"));
  timing.min_time_s = number(request, "min_time", "0.05");
  timing.warm_up_s = number(request, "warm_up", "0.02");
  timing.iterations = static_cast<std::uint64_t>(number(request, "iterations", "0"));
  timing.wants_events = request.get("wants_events") == "1";
  timing.logs = split_words<std::string>(request.get("compiler_logs"));
  timing.is_cold = request.get("cold") == "1";
  if (request.fields.contains("candidate")) {
    timing.verification = make_verification(request);
    if (!timing.verification->is_complete()) return missing(request.get("candidate"));
  }
  return in_child(request, [&](const OnProgress& on_progress) {
    timing.on_progress = on_progress;
    return kTimed.at(request.verb)(timing);
  });
}

wire::Message NativeHost::verify(const wire::Message& request) {
  const VerificationRequest asked = make_verification(request);
  if (!asked.is_complete()) return missing(request.get("candidate"));
  return in_child(request, [&](const OnProgress& on_progress) {
    return instr::verify(asked, [&](const std::string& stage) { on_progress({{"stage", stage}}); });
  });
}

wire::Message NativeHost::in_child(const wire::Message& request, const Work& work) {
  std::string device = request.get("device", "cpu");
  if (auto problem = enter_snippet_folder(); !problem.empty()) {
    return failed("worker_lost", problem);
  }
  SharedText answer;
  ChildOutput output;
  if (!answer.is_mapped() || !output.is_open())
    return failed("worker_lost", std::string("no memory for the reply: ") + strerror(errno));
  auto on_progress = [&answer](const wire::Fields& fields) {
    answer.set(wire::encode({kProgress, fields}));
  };
  const SnippetLimits limits = limits_for(request);
  auto body = [&] {
    close(channel_.fd());
    pin_to(split_words<int>(request.get("cores")));
    limit_memory(limits.bytes);
    // Checked only in the child, since a device cannot be shared with a fork.
    auto reason = unusable_reason(device);
    if (!set_default_type(request.get("dtype", "float32"))) {
      reason = "the data type '" + request.get("dtype") + "' is not known";
    }
    if (!reason && request.get("compiler") == "1") {
      watch_compiler({request.get("compiler_cache"), request.get("compiler_logs")});
    }
    if (!reason) seed(device);
    auto reply = reason ? failed("unsupported", *reason) : work(on_progress);
    if (!answer.set(wire::encode(reply))) {
      answer.set(wire::encode(failed("worker_lost", "its answer is longer than 15 MiB")));
    }
  };
  const Ended ended = run_within_limits(request, limits, answer, output, body,
                                        [this] { return channel_.hung_up(); });
  auto said = wire::decode_line(answer.get());
  if (ended.pid < 0) return failed("worker_lost", std::string("fork: ") + strerror(errno));
  const auto cause = find_cause(ended, limits.bytes);
  const bool is_answer = said && said->verb != kProgress && !cause;
  wire::Message reply =
      is_answer ? *said : cause.value_or(ended_early(ended.status, output.text()));
  if (!is_answer && said) reply.fields.merge(said->fields);
  reply.fields["output"] = output.text();
  return reply;
}

void serve_natively() {
  rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  NativeHost host(wire::kControlFd);
  const wire::Message hello{"hello",
                            {{"version", wire::kWorkerVersion},
                             {"abi", std::to_string(INSTR_ABI_VERSION)},
                             {"libtorch_version", torch_side::version()},
                             {"timed_cpu_capability", torch_side::cpu_capability()}}};
  if (!host.channel().send(hello)) end_process();
  host.serve();
}

}  // namespace instr
