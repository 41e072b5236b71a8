#include "core/measure/import_costs.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cstdlib>
#include <future>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "core/base/environment.h"
#include "core/base/format.h"
#include "core/base/output_file.h"
#include "core/base/process.h"
#include "core/base/read_file.h"
#include "core/base/text.h"
#include "core/compile/installation.h"
#include "core/compile/language_support.h"
#include "core/compile/python/python.h"
#include "core/compile/source_writer.h"

// import_marks.S
extern "C" const char instr_import_marks[];
extern "C" const char instr_import_marks_end[];

namespace instr {

namespace {

constexpr const char* kImportScript = "import_modules.py";
constexpr const char* kMarksLibrary = "marks.so";

// The costs of modules while marks are read.
class ImportSums {
 public:
  explicit ImportSums(const std::vector<std::string>& names) : names_(names) {
    modules_.push_back({"", 0, 0, 1});
    paths_.push_back({.calls = 1});
  }

  void add(const ImportMark& mark) {
    charge(mark.instructions);
    const auto number = static_cast<std::size_t>(mark.event / 4);
    if (mark.event % 4 == 0 && number < names_.size()) enter(names_[number]);
    if (mark.event % 4 == 1 && stack_.size() > 1) leave();
  }

  std::string finish(std::uint64_t total) {
    charge(total);
    while (stack_.size() > 1) leave();
    modules_[0].inclusive = total;
    auto json = nlohmann::ordered_json::object();
    json["functions"] = nlohmann::ordered_json::array();
    for (const Module& module : modules_) {
      nlohmann::ordered_json code;  // null: the statement
      if (!module.name.empty()) code = {{"name", module.name}, {"file", ""}, {"line", 0}};
      json["functions"].push_back({{"code", std::move(code)},
                                   {"self", module.self},
                                   {"inclusive", module.inclusive},
                                   {"calls", module.calls},
                                   {"recursive", false}});
    }
    json["calls"] = nlohmann::ordered_json::array();
    for (const auto& [pair, sum] : calls_) {
      json["calls"].push_back({pair.first, pair.second, sum.first, sum.second});
    }
    json["tree"] = nlohmann::ordered_json::array();
    for (const CallNode& path : paths_) {
      json["tree"].push_back({path.function, path.parent, path.self, path.calls});
    }
    return json.dump();
  }

 private:
  struct Module {
    std::string name;
    std::uint64_t self = 0;
    std::uint64_t inclusive = 0;
    std::uint64_t calls = 0;
  };
  struct Import {
    std::size_t module = 0;
    std::size_t path = 0;
    std::uint64_t begin = 0;
  };

  void charge(std::uint64_t now) {
    modules_[stack_.back().module].self += now - last_;
    paths_[stack_.back().path].self += static_cast<std::int64_t>(now - last_);
    last_ = now;
  }

  void enter(const std::string& name) {
    const auto [place, is_new] = numbers_.emplace(name, modules_.size());
    if (is_new) modules_.push_back({name, 0, 0, 0});
    ++modules_[place->second].calls;
    const std::size_t parent = stack_.back().path;
    const auto [path, is_new_path] =
        path_numbers_.emplace(std::pair(parent, place->second), paths_.size());
    if (is_new_path) paths_.push_back({.function = place->second, .parent = parent});
    ++paths_[path->second].calls;
    stack_.push_back({place->second, path->second, last_});
  }

  void leave() {
    const Import import = stack_.back();
    stack_.pop_back();
    const std::uint64_t cost = last_ - import.begin;
    modules_[import.module].inclusive += cost;
    auto& [sum, count] = calls_[{stack_.back().module, import.module}];
    sum += cost;
    ++count;
  }

  const std::vector<std::string>& names_;
  std::vector<Module> modules_;
  std::vector<CallNode> paths_;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> path_numbers_;
  std::map<std::string, std::size_t> numbers_;
  std::map<std::pair<std::size_t, std::size_t>, std::pair<std::uint64_t, std::uint64_t>> calls_;
  std::vector<Import> stack_{{}};
  std::uint64_t last_ = 0;
};

// The folder's name in the interpreter, of the same length everywhere.
std::string folder_in_process() {
  return "/proc/self/fd/" + std::to_string(wire::kProgramFolderFd);
}

class ImportCounter {
 public:
  ImportCounter(const Variant& variant, const ProgramOptions& options, const fs::path& folder,
                const std::stop_token& stop)
      : variant_(variant),
        options_(options),
        folder_(folder),
        shared_(folder / "modules"),
        stop_(stop) {}

  // Makes what the interpreters share: links to the modules, and their compiled code.
  tl::expected<void, wire::Message> prepare() {
    if (auto made = make_shared(); !made) return program_failure(made.error());
    const auto interpreter = choose_interpreter(options_.config.tools.python, /*libtorch=*/{});
    if (!interpreter) return program_failure(interpreter.error());
    ProgramStart find{
        .command = {*interpreter,
                    python_script(find_installation().sources, kImportScript).string(), "find",
                    shared_.string(), module()},
        .environment = own_environment(),
        .working_directory = variant_.program->folder};
    TRY(run(find, folder_, "cannot be imported"));
    TRY(run(start("prime"), folder_,
            "cannot be imported in a bare interpreter (-S, without its "
            "site)"));
    return {};
  }

  tl::expected<CountedRun, wire::Message> count(int number) const {
    ProgramStart counted = start("count");
    counted.command.push_back(list_name(number));
    counted.environment.emplace_back("PYTHONDONTWRITEBYTECODE=1");
    counted.environment.push_back("LD_PRELOAD=" + folder_in_process() + "/" + kMarksLibrary);
    counted.valgrind_options = {{"--collect-atstart=no"}};
    const fs::path own = make_run_folder(folder_, number);
    TRY_ASSIGN(const ProgramEnd ended, run(counted, own, "cannot be imported under Valgrind"));
    TRY_ASSIGN(const fs::path profile, find_profile(own, ended.pid));
    return read_run(profile);
  }

  // Writes the costs of that import by module.
  Expected<void> write_costs(const fs::path& file, int number, const CountedRun& run) const {
    TRY_ASSIGN(const auto log, read_file(run.file.string() + ".log", kMaxResultsBytes));
    TRY_ASSIGN(const auto names, read_file(shared_ / list_name(number), kMaxResultsBytes));
    return write_text(file,
                      describe_imports(read_import_marks(log), to_lines(names), run.instructions));
  }

 private:
  static std::string list_name(int number) { return fmt::format("modules.{}", number); }

  const std::string& module() const { return variant_.program->command.front(); }

  Expected<void> make_shared() {
    std::error_code error;
    fs::create_directory(shared_, error);
    TRY(write_text(shared_ / kMarksLibrary,
                   std::string(instr_import_marks, static_cast<std::size_t>(instr_import_marks_end -
                                                                            instr_import_marks))));
    TRY_ASSIGN(const auto script,
               read_file(python_script(find_installation().sources, kImportScript), kMaxTextBytes));
    TRY(write_text(shared_ / kImportScript, script));
    descriptor_ = Fd(::open(shared_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!descriptor_) return fail("cannot open " + shared_.string());
    return {};
  }

  ProgramStart start(const char* task) const {
    const std::string place = folder_in_process();
    const std::string code = fmt::format("exec(compile(open('{}/{}').read(), '<{}>', 'exec'))",
                                         place, kImportScript, kImportScript);
    ProgramStart start{
        .command = {place + "/python", "-S", "-s", "-c", code, task, place, module()},
        .environment = program_environment({}),
        .working_directory = "/"};
    start.environment.push_back("PYTHONHOME=" + place + "/home:" + place + "/platform_home");
    start.environment.push_back("PYTHONPYCACHEPREFIX=" + place + "/pycache");
    std::erase(start.environment, "PYTHONDONTWRITEBYTECODE=1");
    start.descriptors = {{descriptor_.get(), wire::kProgramFolderFd}};
    return start;
  }

  tl::expected<ProgramEnd, wire::Message> run(const ProgramStart& start, const fs::path& folder,
                                              const char* problem) const {
    TRY_ASSIGN(auto ended, run_program(start, variant_, options_, folder, stop_));
    if (!find_failure(ended, 0)) return ended;
    return program_failure(FailureKind::kException,
                           fmt::format("`{}` {}:\n{}", printable(module()), problem,
                                       printable(ended.message, /*lines=*/true)));
  }

  const Variant& variant_;
  const ProgramOptions& options_;
  const fs::path& folder_;
  const fs::path shared_;
  const std::stop_token& stop_;
  Fd descriptor_;
};

}  // namespace

std::vector<ImportMark> read_import_marks(std::string_view log) {
  std::vector<ImportMark> marks;
  std::istringstream lines{std::string(log)};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t mark = line.find("** mark ");
    if (line.starts_with("**") && mark != std::string::npos) {
      marks.push_back({std::atoi(line.c_str() + mark + 8)});
    }
    // "events-1: 6013" for each thread; "events-1-0: ..." is a call in progress.
    constexpr std::string_view kSum = "events-";
    if (marks.empty() || !line.starts_with(kSum)) continue;
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || line.find('-', kSum.size()) < colon) continue;
    marks.back().instructions += std::strtoull(line.c_str() + colon + 1, nullptr, 10);
  }
  return marks;
}

std::string describe_imports(const std::vector<ImportMark>& marks,
                             const std::vector<std::string>& names, std::uint64_t total) {
  ImportSums sums(names);
  for (const ImportMark& mark : marks) sums.add(mark);
  return sums.finish(total);
}

CallTree read_import_tree(const std::string& costs) {
  CallTree tree;
  const auto json = nlohmann::json::parse(costs, nullptr, /*allow_exceptions=*/false);
  for (const auto& function : json.at("functions")) {
    const auto& code = function.at("code");
    const bool is_module = !code.is_null();
    tree.functions.push_back(
        {.function = is_module ? code.at("name").get<std::string>() : kSnippetName});
  }
  for (const auto& node : json.at("tree")) {
    tree.nodes.push_back(
        {.function = node[0], .parent = node[1], .self = node[2], .calls = node[3]});
  }
  sum_up(tree.nodes);
  return tree;
}

tl::expected<wire::Message, wire::Message> count_import(const Variant& variant,
                                                        const ProgramOptions& options,
                                                        const fs::path& folder,
                                                        const std::stop_token& stop) {
  ImportCounter counter(variant, options, folder, stop);
  TRY(counter.prepare());
  // An import leaves nothing behind that another one sees: both may run at the same time.
  const bool is_parallel = options.config.tools.jobs != 1;
  auto other = std::async(is_parallel ? std::launch::async : std::launch::deferred,
                          [&counter] { return counter.count(1); });
  auto counted = counter.count(2);
  TRY_ASSIGN(const CountedRun first, other.get());
  TRY_ASSIGN(const CountedRun second, std::move(counted));
  wire::Message reply = make_program_reply(second, options.work_dir, 1, 0);
  reply.fields["warmup"] = "1";
  reply.fields["ir_1"] = std::to_string(first.instructions);
  reply.fields["steady"] = first.instructions == second.instructions ? "1" : "0";
  const std::string costs = reply.get("profile") + wire::kFollowedSuffix;
  if (auto written = counter.write_costs(options.work_dir / costs, 2, second); !written) {
    return program_failure(FailureKind::kNoProfile, to_string(written.error()));
  }
  reply.fields["followed"] = costs;
  reply.fields["followed_iterations"] = "1";
  return reply;
}

}  // namespace instr
