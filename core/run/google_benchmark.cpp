#include "core/run/google_benchmark.h"

#include <fmt/format.h>

#include <memory>
#include <sstream>
#include <utility>

#include "core/base/format.h"
#include "core/base/process.h"
#include "core/base/text.h"
#include "core/measure/program_run.h"

namespace instr {

namespace {

Expected<std::vector<std::string>> list_names(const Program& program) {
  SpawnOptions spawn;
  TRY_ASSIGN(spawn.argv, resolve_command(program));
  const std::string name = spawn.argv.front();
  spawn.argv.emplace_back("--benchmark_list_tests");
  spawn.environment = program_environment(program);
  spawn.working_directory = program.folder;
  TRY_ASSIGN(const auto listed, run_command(std::move(spawn)));
  constexpr const char* kAdvice = "is it a program of Google Benchmark, with its main()?";
  if (listed.exit_code != 0) {
    return fail(fmt::format("`{} --benchmark_list_tests` ended with exit status {}", name,
                            listed.exit_code),
                listed.errors.empty() ? kAdvice : printable(listed.errors));
  }
  std::vector<std::string> names;
  std::istringstream lines(listed.output);
  for (std::string line; std::getline(lines, line);) {
    if (!is_blank(line) && is_plain_line(line)) names.push_back(line);
  }
  if (names.empty()) return fail(fmt::format("`{}` lists no benchmark", name), kAdvice);
  return names;
}

// Adds a benchmark for each that the program of `group` lists.
Expected<void> add_listed(const GroupedBenchmark& group, std::vector<GroupedBenchmark>& all) {
  TRY_ASSIGN(const auto names, list_names(*group.program));
  for (const std::string& name : names) {
    GroupedBenchmark& benchmark = all.emplace_back(group);
    benchmark.label += "/" + name;
    Program program = *group.program;
    program.benchmark = name;
    benchmark.program = std::make_shared<const Program>(std::move(program));
  }
  return {};
}

}  // namespace

tl::expected<std::vector<GroupedBenchmark>, Errors> list_google_benchmarks(
    std::vector<GroupedBenchmark> benchmarks) {
  std::vector<GroupedBenchmark> all;
  Errors errors;
  for (GroupedBenchmark& benchmark : benchmarks) {
    if (!benchmark.program || benchmark.program->kind != ProgramKind::kGoogleBenchmark) {
      all.push_back(std::move(benchmark));
      continue;
    }
    auto added = add_listed(benchmark, all);
    if (added) continue;
    errors.push_back(std::move(added.error()));
    if (errors.back().where.file.empty()) errors.back().where = benchmark.where;
  }
  if (!errors.empty()) return tl::unexpected<Errors>(std::move(errors));
  return all;
}

}  // namespace instr
