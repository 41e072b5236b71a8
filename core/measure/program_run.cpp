#include "core/measure/program_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <set>
#include <sstream>

#include "core/base/format.h"
#include "core/base/process.h"
#include "core/base/read_file.h"
#include "core/base/text.h"
#include "core/compile/language_support.h"
#include "core/measure/worker_process.h"
#include "core/results/simulation.h"
#include "worker/cpu_watch.h"

namespace instr {

namespace {

constexpr off_t kMaxOutput = off_t{256} << 20;  // bytes that a program may print
constexpr off_t kOutputShown = 2000;            // bytes of it in a message

}  // namespace

ProgramFailure program_failure(FailureKind kind, std::string message) {
  return ProgramFailure(
      wire::Message{"failed", {{"kind", to_string(kind)}, {"message", std::move(message)}}});
}

ProgramFailure program_failure(const Error& error) {
  return program_failure(FailureKind::kDefinitionError, to_string(error));
}

namespace {

// A file in memory that takes a program's output: the same on every machine, unlike a pipe, whose
// writes may be short, or a file, whose blocks may have another size.
class Output {
 public:
  Output() : file_(::memfd_create("output", MFD_CLOEXEC)) {}
  int get() const { return file_.get(); }

  off_t size() const {
    struct stat facts {};
    return ::fstat(get(), &facts) == 0 ? facts.st_size : 0;
  }

  std::string read(off_t begin, off_t count) const {
    std::string text(static_cast<std::size_t>(count), '\0');
    const ssize_t size = ::pread(get(), text.data(), text.size(), begin);
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    return text;
  }
  std::string all() const { return read(0, size()); }
  std::string end() const {
    const off_t begin = std::max<off_t>(0, size() - kOutputShown);
    return std::string(trim(read(begin, kOutputShown), "\n"));
  }

 private:
  Fd file_;
};

// A variable in the environment of a program and all that it starts, by which they are found even
// if they have left its process group. Its value has a fixed length.
constexpr const char* kMarkName = "INSTR_BENCH_RUN";

std::string make_mark() {
  std::uint64_t random = 0;
  if (::getrandom(&random, sizeof random, 0) != sizeof random) random = now_ms();
  return fmt::format("{}={:016x}", kMarkName, random);
}

// Lists the processes that have this mark in their environment, with their names.
std::vector<std::pair<pid_t, std::string>> find_marked(const std::string& mark) {
  std::vector<std::pair<pid_t, std::string>> marked;
  visit_numbers("/proc", [&](int pid) {
    const fs::path folder = fs::path("/proc") / std::to_string(pid);
    const std::string text = read_file(folder / "environ", kMaxTextBytes).value_or("");
    if (text.find(mark) == std::string::npos) return;
    const std::string name = read_file(folder / "comm", kMaxTextBytes).value_or("a process");
    marked.emplace_back(pid, trim(name, "\n"));
  });
  return marked;
}

// Ends what a program has left running; returns the name of one such process.
std::optional<std::string> end_marked(const std::string& mark) {
  const auto left = find_marked(mark);
  for (const auto& [pid, name] : left) kill_tree(pid);
  if (left.empty()) return std::nullopt;
  return left.front().second;
}

class ProgramRun {
 public:
  ProgramRun(const ProgramStart& start, const Variant& variant, const ProgramOptions& options,
             const fs::path& folder)
      : start_(start), variant_(variant), options_(options), folder_(folder) {}

  tl::expected<ProgramEnd, wire::Message> run(const std::function<bool(pid_t)>& is_enough,
                                              const std::stop_token& stop) {
    auto spawn = make_spawn();
    if (!spawn) return program_failure(spawn.error());
    auto process = Process::spawn(*spawn);
    if (!process) return program_failure(process.error());
    ProgramEnd ended{process->pid(), std::nullopt, "", ""};
    auto waited = wait(*process, is_enough, stop, ended);
    process->kill();
    process->wait();
    const auto left = end_marked(mark_);
    if (!waited) return ProgramFailure(std::move(waited.error()));
    if (left && ended.status) {
      return program_failure(
          FailureKind::kExited,
          fmt::format("the program ended, and left a process running (`{}`), which was killed: "
                      "count a program in the foreground, not one that becomes a daemon",
                      printable(*left)));
    }
    ended.output = output_.all();
    ended.message = errors_.size() > 0 ? errors_.end() : output_.end();
    return ended;
  }

 private:
  std::vector<std::string> valgrind_command() const {
    const std::string profiles = (folder_ / wire::kProfilePrefix).string();
    std::vector<std::string> command{options_.valgrind.program.string(),
                                     "--tool=callgrind",
                                     "--command-line-only=yes",
                                     "--quiet",
                                     "--vgdb=no",
                                     "--callgrind-out-file=" + profiles + "%p",
                                     "--log-file=" + profiles + "%p.log"};
    for (auto& option : valgrind_options(options_.config.simulation)) {
      command.push_back(std::move(option));
    }
    if (options_.config.call_paths) {
      command.insert(command.end(), {"--separate-callers=200", "--separate-recs=10"});
    }
    command.insert(command.end(), start_.valgrind_options->begin(), start_.valgrind_options->end());
    return command;
  }

  Expected<SpawnOptions> make_spawn() {
    SpawnOptions spawn;
    spawn.environment = start_.environment;
    spawn.environment->push_back(mark_);
    if (start_.valgrind_options) {
      spawn.argv = valgrind_command();
      TRY_ASSIGN(tools_, pass_tools(options_.valgrind.tools, spawn));
    }
    spawn.argv.insert(spawn.argv.end(), start_.command.begin(), start_.command.end());
    spawn.working_directory = start_.working_directory;
    if (start_.standard_input) {
      input_ = Fd(::open(start_.standard_input->c_str(), O_RDONLY | O_CLOEXEC));
      if (!input_) {
        return fail(fmt::format("cannot read `stdin`, {}: {}", start_.standard_input->string(),
                                ::strerror(errno)));
      }
      spawn.descriptors.emplace_back(input_.get(), STDIN_FILENO);
    }
    spawn.descriptors.insert(spawn.descriptors.end(), start_.descriptors.begin(),
                             start_.descriptors.end());
    spawn.descriptors.emplace_back(output_.get(), STDOUT_FILENO);
    spawn.descriptors.emplace_back(errors_.get(), STDERR_FILENO);
    spawn.pin_layout = true;
    spawn.own_session = true;
    return spawn;
  }

  tl::expected<void, wire::Message> wait(Process& process,
                                         const std::function<bool(pid_t)>& is_enough,
                                         const std::stop_token& stop, ProgramEnd& ended) {
    constexpr std::chrono::milliseconds kInterval(20);
    const std::int64_t limit = timeout_of(time_limit(variant_, options_.config)).count();
    CpuWatch watch({limit, limit}, now_ms());
    const pid_t pid = process.pid();
    for (std::int64_t next_look = now_ms() + watch.interval_ms();;) {
      if ((ended.status = process.wait_for(kInterval))) return {};
      if (stop.stop_requested()) return program_failure(FailureKind::kWorkerLost, "interrupted");
      if (is_enough && is_enough(pid)) return {};
      if (output_.size() + errors_.size() > kMaxOutput) {
        return program_failure(FailureKind::kExited, "the program printed more than 256 MiB");
      }
      if (now_ms() < next_look) continue;
      const CpuVerdict verdict = watch.look(now_ms(), cpu_use_of_tree(pid));
      next_look = now_ms() + watch.interval_ms();
      if (verdict == CpuVerdict::kGoesOn) continue;
      std::string message = stopped_text(verdict, limit);
      if (verdict == CpuVerdict::kIdle) message += ": does it wait for input, or a terminal?";
      return program_failure(FailureKind::kTimedOut, std::move(message));
    }
  }

  const ProgramStart& start_;
  const Variant& variant_;
  const ProgramOptions& options_;
  const fs::path& folder_;
  const std::string mark_ = make_mark();
  Output output_;
  Output errors_;
  Fd input_;
  Fd tools_;
};

std::string in_words(int status, int expected) {
  if (WIFSIGNALED(status)) {
    return std::string("the program was ended by a signal: ") + ::strsignal(WTERMSIG(status));
  }
  return fmt::format("the program ended with exit status {}, not {}", WEXITSTATUS(status),
                     expected);
}

}  // namespace

tl::expected<ProgramEnd, wire::Message> run_program(const ProgramStart& start,
                                                    const Variant& variant,
                                                    const ProgramOptions& options,
                                                    const fs::path& folder,
                                                    const std::stop_token& stop,
                                                    const std::function<bool(pid_t)>& is_enough) {
  return ProgramRun(start, variant, options, folder).run(is_enough, stop);
}

std::optional<ProgramFailure> find_failure(const ProgramEnd& ended, int expected_status) {
  const int status = ended.status.value_or(0);
  if (!ended.status || (WIFEXITED(status) && WEXITSTATUS(status) == expected_status)) {
    return std::nullopt;
  }
  std::string message = in_words(status, expected_status);
  if (!ended.message.empty()) {
    message += "; its output ends with\n" + printable(ended.message, /*lines=*/true);
  }
  const bool is_signal = WIFSIGNALED(status);
  return program_failure(is_signal ? FailureKind::kCrashed : FailureKind::kExited,
                         std::move(message));
}

tl::expected<fs::path, wire::Message> find_profile(const fs::path& folder, pid_t pid) {
  const fs::path file = folder / (wire::kProfilePrefix + std::to_string(pid));
  std::error_code error;
  const auto size = fs::file_size(file, error);
  if (!error && size != 0) return file;  // Callgrind opens the file when it starts
  return program_failure(FailureKind::kNoProfile,
                         "the program replaced itself by another one (exec): count that one, or "
                         "use `children = true` (--children)");
}

namespace {

const ProfileFunction& function_at(const Profile& profile, std::size_t index) {
  return profile.functions[index];
}

// Returns true for a function of the C library that takes memory. The loader's own, of the same
// name, is used before the C library is loaded.
bool is_allocator(const ProfileFunction& function) {
  static constexpr std::array<std::string_view, 8> kNames = {
      "malloc",        "calloc",         "realloc", "memalign",
      "aligned_alloc", "posix_memalign", "valloc",  "pvalloc"};
  const std::string& name = function.function;
  return std::ranges::find(kNames, name.substr(0, name.find('@'))) != kNames.end() &&
         !function.library().starts_with("ld-linux");
}

std::uint64_t count_allocations(const Profile& profile) {
  std::uint64_t count = 0;
  for (const ProfileCalls& calls : profile.calls) {
    const bool is_request = is_allocator(function_at(profile, calls.callee)) &&
                            !is_allocator(function_at(profile, calls.caller));
    if (is_request) count += calls.count;
  }
  return count;
}

bool has_threads(const Profile& profile) {
  return std::ranges::any_of(profile.functions, [](const ProfileFunction& function) {
    return function.function == "start_thread" || function.function == "pthread_create@@GLIBC_2.34";
  });
}

// Lists the objects whose code ran, one per line, as a worker does (kLoadedSuffix).
void write_loaded(const Profile& profile, const fs::path& file) {
  std::set<std::string> objects;
  for (const ProfileFunction& function : profile.functions) objects.insert(function.object);
  std::ofstream list(file, std::ios::binary);
  for (const std::string& object : objects) {
    if (object.starts_with('/')) list << object << "\n";
  }
}

}  // namespace

tl::expected<CountedRun, wire::Message> read_run(const fs::path& file) {
  auto profile = read_profile(file);
  if (!profile) return program_failure(FailureKind::kNoProfile, to_string(profile.error()));
  const auto ir = profile->find_event("Ir");
  const std::uint64_t total = ir ? profile->totals[*ir] : 0;
  return CountedRun{file, *std::move(profile), total};
}

wire::Message make_program_reply(const CountedRun& run, const fs::path& work_dir,
                                 std::uint64_t iterations, std::uint64_t entry) {
  const std::string name =
      fmt::format("{}.profile", run.file.parent_path().parent_path().filename().string());
  std::error_code ignored;
  fs::rename(run.file, work_dir / name, ignored);
  const std::string loaded = name + wire::kLoadedSuffix;
  write_loaded(run.profile, work_dir / loaded);
  const std::string total = std::to_string(run.instructions);
  std::string events;
  std::string totals;
  for (std::size_t i = 0; i < run.profile.events.size(); ++i) {
    events += run.profile.events[i] + " ";
    totals += std::to_string(run.profile.totals[i]) + " ";
  }
  return {"measured",
          {{"iterations", std::to_string(iterations)},
           {"ir_1", total},
           {"ir_2", total},
           {"loop_ir", "0"},
           {"loop_entry_ir", std::to_string(entry)},
           {"events", events},
           {"events_2", totals},
           {"allocs_2", std::to_string(count_allocations(run.profile))},
           {"has_threads", has_threads(run.profile) ? "1" : "0"},
           {"profile", name},
           {"loaded", loaded}}};
}

namespace {

// Returns the first bytes of a file.
std::string read_start(const fs::path& file) {
  char text[256];
  return read_small(file.c_str(), text) ? text : "";
}

// Checks that Valgrind can run the file.
Expected<void> check_program(const std::string& name, const fs::path& file) {
  struct stat facts {};
  if (::stat(file.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) {
    return fail(fmt::format("there is no program `{}`", printable(name)),
                "build it, or correct its path, which is relative to the definition's folder");
  }
  if (::access(file.c_str(), X_OK) != 0) {
    return fail(fmt::format("the program `{}` is not executable", printable(name)),
                "make it executable, or name its interpreter first");
  }
  const bool has_rights = (facts.st_mode & (S_ISUID | S_ISGID)) != 0 ||
                          ::getxattr(file.c_str(), "security.capability", nullptr, 0) > 0;
  if (has_rights) {
    return fail(fmt::format("the program `{}` is set-uid, set-gid or has capabilities, which "
                            "Valgrind cannot run",
                            printable(name)),
                "count a copy of it without these rights");
  }
  const std::string start = read_start(file);
  constexpr std::string_view kElf("\177ELF");
  if (start.starts_with(kElf) || start.starts_with("#!")) return {};
  return fail(fmt::format("the program `{}` is neither an executable nor a script that begins "
                          "with #!",
                          printable(name)),
              "add the line, or name its interpreter first: [\"sh\", \"script\"]");
}

// Returns the interpreter in "#!/usr/bin/env NAME", which env would look up and start: the script's
// process would become another program.
std::optional<std::string> env_interpreter(const fs::path& script) {
  std::istringstream line(read_start(script));
  std::string env;
  std::string name;
  std::string rest;
  std::getline(line, rest);
  if (!rest.starts_with("#!")) return std::nullopt;
  std::istringstream words(rest.substr(2));
  words >> env >> name;
  if (fs::path(env).filename() != "env" || name.empty() || name.starts_with('-')) {
    return std::nullopt;
  }
  return name;
}

}  // namespace

Expected<std::vector<std::string>> resolve_command(const Program& program) {
  std::vector<std::string> command = program.command;
  TRY_ASSIGN(fs::path file, find_program(command.front()));
  const fs::path found = program.folder / file;
  TRY(check_program(command.front(), found));
  command.front() = file.string();
  if (const auto interpreter = env_interpreter(found)) {
    TRY_ASSIGN(const fs::path path, find_program(*interpreter));
    command.insert(command.begin(), path.string());
  }
  return command;
}

tl::expected<ProgramStart, wire::Message> make_start(const Program& program,
                                                     std::vector<std::string> valgrind_options) {
  auto command = resolve_command(program);
  if (!command) return program_failure(command.error());
  return ProgramStart{.command = *std::move(command),
                      .environment = program_environment(program),
                      .working_directory = program.folder,
                      .standard_input = program.standard_input,
                      .valgrind_options = std::move(valgrind_options)};
}

std::vector<std::string> program_environment(const Program& program) {
  std::vector<std::string> environment = pinned_environment(cpu_class());
  // Python's hashes and modules: the same for every user.
  environment.insert(environment.end(), {"HOME=/", "PYTHONHASHSEED=0", "PYTHONNOUSERSITE=1",
                                         "PYTHONDONTWRITEBYTECODE=1"});
  for (const auto& [name, value] : program.environment) {
    std::erase_if(environment,
                  [&name = name](const std::string& each) { return each.starts_with(name + "="); });
    environment.push_back(name + "=" + value);
  }
  return environment;
}

fs::path make_run_folder(const fs::path& folder, int number) {
  fs::path own = folder / std::to_string(number);
  std::error_code ignored;
  fs::create_directory(own, ignored);
  return own;
}

}  // namespace instr
