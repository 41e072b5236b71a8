#include "rig.h"

#include <stdlib.h>

#include <thread>

#include "core/base/content_hash.h"
#include "core/base/process.h"
#include "core/compile/cache.h"
#include "core/compile/compiled_variant.h"
#include "core/compile/cpp/compile_cpp.h"
#include "core/compile/cpp/tracked_artefacts.h"
#include "core/compile/language_support.h"
#include "core/compile/libtorch.h"
#include "core/compile/toolchain.h"
#include "core/measure/parse_reply.h"
#include "core/measure/zygote_pool.h"

namespace instr::worker_tests {

using namespace testing;

namespace {

CompileOptions compile_options() {
  CompileOptions options;
  const char* torch_dir = getenv("TORCH_DIR");
  options.libtorch = value_of(
      find_libtorch(torch_dir != nullptr ? std::optional<fs::path>(torch_dir) : std::nullopt));
  options.toolchain = value_of(find_toolchain(std::nullopt, options.libtorch));
  options.jobs = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  options.sources = INSTR_SOURCE_DIR;
  return options;
}

// Compiled once per compiler, LibTorch and text.
fs::path build_unit(const CompileOptions& options, Cache& cache) {
  const fs::path root = INSTR_SOURCE_DIR;
  const fs::path source = root / "tests/fixtures/worker/snippets.cpp";
  std::string identity = identify_toolchain(options) + text_of(source);
  for (const char* header : {"abi.h", "snippet_support.h"}) {
    identity += text_of(root / "worker" / header);
  }
  std::string name = "worker-test-" + content_hash(identity) + ".so";
  return value_of(cache.get(name, [&](const fs::path& made) -> Expected<void> {
    SpawnOptions spawn;
    spawn.argv = {options.toolchain.compiler.string()};
    for (const auto& flag : options.toolchain.flags) spawn.argv.push_back(flag);
    spawn.argv.insert(spawn.argv.end(), {"-w", "-shared", "-I" + root.string(), source.string(),
                                         "-o", made.string()});
    for (const auto& flag : options.toolchain.link_flags) spawn.argv.push_back(flag);
    auto result = run_command(spawn);
    if (!result) return tl::unexpected(result.error());
    if (result->exit_code != 0) return fail(result->errors);
    return {};
  }));
}

std::shared_ptr<WorkerProcess> warm(const std::shared_ptr<Root>& root, WarmUp kind) {
  auto zygote = fork_zygote(root, kind);
  if (!zygote) throw std::runtime_error(to_string(zygote.error()));
  return *std::move(zygote);
}

}  // namespace

std::uint64_t Answer::number(const std::string& name) const {
  return strtoull(message.get(name, "0").c_str(), nullptr, 10);
}

double Answer::ir() const {
  double once = static_cast<double>(number("ir_2"));
  double more = number("double_ir") == 0 ? once - static_cast<double>(number("loop_entry_ir"))
                                         : static_cast<double>(number("double_ir")) - once;
  return more / static_cast<double>(number("iterations")) - static_cast<double>(number("loop_ir"));
}

double Answer::for_each(const std::string& total) const {
  return static_cast<double>(number(total)) / static_cast<double>(number("iterations"));
}

std::map<std::string, double> Answer::metrics() const {
  Outcome outcome = parse_reply(message, {});
  const auto* counted = std::get_if<Counted>(&outcome);
  return counted == nullptr ? std::map<std::string, double>{} : counted->metrics;
}

std::string Answer::counts() const {
  std::string text = message.verb;
  for (const char* name : {"iterations", "warmup", "steady", "ir_1", "ir_2", "double_ir", "loop_ir",
                           "allocs_2", "alloc_bytes_2", "peak_bytes"}) {
    text += std::string(" ") + name + "=" + message.get(name);
  }
  return text;
}

Answer ask(WorkerProcess& where, const Request& request, bool fork) {
  wire::Message message{"measure",
                        {{"symbol", request.snippet},
                         {"threads", std::to_string(request.threads)},
                         {"iterations", std::to_string(request.iterations)},
                         {"timeout_ms", std::to_string(request.timeout_ms)},
                         {"memory_limit", std::to_string(request.memory_limit)},
                         {"cache_sim", request.simulation.cache ? "1" : "0"},
                         {"branch_sim", request.simulation.branch ? "1" : "0"},
                         {"fork", fork ? "1" : "0"}}};
  if (request.warmup) message.fields["warmup"] = std::to_string(*request.warmup);
  if (request.warmup == 0) message.fields["once"] = "1";
  auto reply = where.request(message, std::chrono::minutes(5));
  if (!reply) return {{"lost", {{"message", to_string(reply.error())}}}};
  return {*reply};
}

TestHost::TestHost(std::shared_ptr<WorkerProcess> zygote, bool loaded) {
  auto host = WorkerProcess::fork(std::move(zygote));
  if (!host) throw std::runtime_error(std::string("no host: ") + to_string(host.error()));
  host_ = std::move(*host);
  if (!loaded) return;
  auto reply =
      host_->request({"load", {{"path", Rig::get().unit().string()}}}, std::chrono::minutes(1));
  if (!reply || reply->verb != "loaded") throw std::runtime_error("the unit was not loaded");
}

Answer TestHost::measure(const Request& request) { return ask(*host_, request); }

Rig& Rig::get() {
  static Rig rig;
  return rig;
}

Rig::Rig() {
  // The cache of the end-to-end tests, which use the same worker.
  const char* given = getenv("INSTR_TEST_CACHE");
  const fs::path beside = fs::path(INSTR_BENCH_PROGRAM).parent_path() / "e2e-cache";
  setenv("INSTR_BENCH_CACHE", given != nullptr ? given : beside.c_str(), 1);
  Cache cache = value_of(Cache::open(true));
  CompileOptions options = compile_options();
  worker_ = value_of(build_worker(WorkerKind::kCounting, INSTR_SOURCE_DIR, options, cache, {}));
  unit_ = build_unit(options, cache);
}

Rig::~Rig() {
  zygotes_.clear();
  root_.reset();
}

std::shared_ptr<WorkerProcess> Rig::zygote(WarmUp kind) {
  auto& zygote = zygotes_[to_string(kind)];
  if (!root_) root_ = start_root("shared", {});
  if (!zygote) zygote = warm(root_, kind);
  return zygote;
}

TestHost Rig::simulating_host() {
  auto& zygote = zygotes_["simulating"];
  if (!zygote) zygote = start("simulating", {true, true});
  return TestHost(zygote, true);
}

std::shared_ptr<WorkerProcess> Rig::start(const std::string& folder, const Simulation& simulation) {
  return warm(start_root(folder, simulation), WarmUp::kEager);
}

std::shared_ptr<Root> Rig::start_root(const std::string& folder, const Simulation& simulation) {
  const fs::path where = folder_ / folder;
  WorkerOptions options{
      .program = {where / "worker", {"./worker"}, pinned_environment(cpu_class()), where},
      .valgrind = "valgrind",
      .work_dir = where,
      .simulation = simulation};
  fs::create_directories(options.work_dir);
  fs::copy_file(worker_, options.program.file, fs::copy_options::overwrite_existing);
  fs::path libraries = options.work_dir / kLibraryLink;
  if (!fs::exists(libraries)) fs::copy_symlink(worker_.parent_path() / kLibraryLink, libraries);
  auto root = value_of(Root::start(options));
  hello_ = value_of(root->await_hello());
  return root;
}

}  // namespace instr::worker_tests
