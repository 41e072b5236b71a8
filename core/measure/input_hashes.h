// The contents of files that an experiment's results depend on.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace instr {

class InputHashes {
 public:
  // Returns the hash of a file, or of the code below the folder of a package; "-" if it cannot be
  // read. An object of this class reads each only once.
  const std::string& of(const std::filesystem::path& file);

  // Returns the hash of a file that was read after `begin`; "changed", which is the hash of no
  // file, if that may have been another content.
  std::string of_unchanged(const std::filesystem::path& file,
                           std::filesystem::file_time_type begin);

 private:
  struct Input {
    std::string hash;
    std::filesystem::file_time_type changed = std::filesystem::file_time_type::min();
  };
  const Input& read(const std::filesystem::path& file);

  std::map<std::filesystem::path, Input> inputs_;
};

}  // namespace instr
