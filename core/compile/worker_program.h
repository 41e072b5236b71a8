// The command that starts a worker, which depends on its language.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace instr {

struct WorkerProgram {
  std::filesystem::path file = {};  // the worker, in its folder of the cache
  // The program, its arguments and its environment ("NAME=value"). Names of files are relative to
  // the working directory or to kProgramFolderFd (worker/wire.h), so that no path of the cache is
  // in the worker's memory.
  std::vector<std::string> command = {};
  std::vector<std::string> environment = {};
  std::filesystem::path working_directory = "/";
};

}  // namespace instr
