#include "core/base/output_folder.h"

#include <cstring>
#include <string>
#include <system_error>

#include "core/base/private_folder.h"

namespace instr {

Expected<void> make_output_folder(const std::filesystem::path& folder, const char* advice) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return tl::unexpected(
        Error{{folder.string()}, "cannot make this folder: " + error.message(), advice});
  }
  const auto tried = PrivateFolder::make_in(folder);
  if (tried) return {};
  return tl::unexpected(
      Error{{folder.string()},
            std::string("cannot write to this folder: ") + std::strerror(tried.error()),
            advice});
}

}  // namespace instr
