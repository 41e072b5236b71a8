#include "core/measure/program.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>

#include "core/base/read_file.h"
#include "core/measure/benchmark_loops.h"
#include "core/measure/import_costs.h"

namespace instr {

namespace {

// Returns the text of a child's profile in which the names of objects tell whose it is.
std::string name_child(const std::string& text, const std::string& child) {
  std::string named;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const bool is_object = line.starts_with("ob=") || line.starts_with("cob=");
    named += line;
    if (is_object && line.find(") ") != std::string::npos) named += " in " + child;
    named += '\n';
  }
  return named;
}

// Returns the name of the program in a profile: "as" for "cmd: /usr/bin/as -o x.o".
std::string program_in(const std::string& text) {
  const std::size_t begin = text.find("\ncmd: ");
  if (begin == std::string::npos) return "a child";
  const std::string command = text.substr(begin + 6, text.find('\n', begin + 6) - begin - 6);
  return fs::path(command.substr(0, command.find(' '))).filename().string();
}

// Adds the profiles of the program's children to its own.
void add_children(const fs::path& own, const fs::path& folder) {
  std::error_code ignored;
  std::map<std::string, std::string> children;  // their texts, sorted by program and file
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const fs::path& file = entry.path();
    if (file == own || file.extension() == ".log") continue;
    const std::string text = read_file(file, kMaxResultsBytes).value_or("");
    const std::string name = program_in(text);
    children[name + file.string()] = name_child(text, name);
  }
  std::ofstream whole(own, std::ios::binary | std::ios::app);
  for (const auto& [name, text] : children) whole << "\n" << text;
}

tl::expected<CountedRun, wire::Message> run_whole(const Variant& variant,
                                                  const ProgramOptions& options,
                                                  const fs::path& folder,
                                                  const std::stop_token& stop) {
  const Program& program = *variant.program;
  std::vector<std::string> more;
  if (program.has_children) more.emplace_back("--trace-children=yes");
  TRY_ASSIGN(const ProgramStart start, make_start(program, std::move(more)));
  TRY_ASSIGN(const ProgramEnd ended, run_program(start, variant, options, folder, stop));
  if (auto failure = find_failure(ended, program.exit_status)) return *std::move(failure);
  TRY_ASSIGN(const fs::path own, find_profile(folder, ended.pid));
  if (program.has_children) add_children(own, folder);
  return read_run(own);
}

// Counts it twice: equal counts are steady.
tl::expected<wire::Message, wire::Message> count_whole(const Variant& variant,
                                                       const ProgramOptions& options,
                                                       const fs::path& folder,
                                                       const std::stop_token& stop) {
  TRY_ASSIGN(const auto first, run_whole(variant, options, make_run_folder(folder, 1), stop));
  TRY_ASSIGN(const auto second, run_whole(variant, options, make_run_folder(folder, 2), stop));
  wire::Message reply = make_program_reply(second, options.work_dir, 1, 0);
  reply.fields["warmup"] = "1";
  reply.fields["ir_1"] = std::to_string(first.instructions);
  reply.fields["steady"] = first.instructions == second.instructions ? "1" : "0";
  return reply;
}

tl::expected<wire::Message, wire::Message> count(const Variant& variant,
                                                 const ProgramOptions& options,
                                                 const fs::path& folder,
                                                 const std::stop_token& stop) {
  switch (variant.program->kind) {
    case ProgramKind::kWhole: return count_whole(variant, options, folder, stop);
    case ProgramKind::kGoogleBenchmark: return count_benchmark(variant, options, folder, stop);
    case ProgramKind::kImport: return count_import(variant, options, folder, stop);
  }
  return {};
}

}  // namespace

wire::Message count_program(const Variant& variant, const ProgramOptions& options,
                            const std::stop_token& stop) {
  std::string folder = (options.work_dir / "program.XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) {
    return program_failure(FailureKind::kNoProfile,
                           "cannot make a folder in " + options.work_dir.string())
        .value();
  }
  auto reply = count(variant, options, folder, stop);
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  return reply ? *std::move(reply) : std::move(reply.error());
}

}  // namespace instr
