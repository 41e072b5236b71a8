#include "core/measure/input_hashes.h"

#include <algorithm>
#include <vector>

#include "core/base/content_hash.h"

namespace instr {

namespace {

namespace fs = std::filesystem;

// Lists the code below a folder, sorted; the file itself if it is none.
std::vector<fs::path> list_code(const fs::path& place) {
  std::error_code problem;
  if (!fs::is_directory(place, problem)) return {place};
  std::vector<fs::path> files;
  const auto options = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator it(place, options, problem), end; !problem && it != end;
       it.increment(problem)) {
    const fs::path& file = it->path();
    if (file.extension() == ".py" || file.extension() == ".so") files.push_back(file);
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

const InputHashes::Input& InputHashes::read(const fs::path& file) {
  const auto [entry, is_new] = inputs_.try_emplace(file);
  Input& input = entry->second;
  if (!is_new) return input;
  std::string hashes;
  for (const fs::path& part : list_code(file)) {
    std::error_code ignored;
    const auto changed = fs::last_write_time(part, ignored);
    if (!ignored) input.changed = std::max(input.changed, changed);
    const std::string hash = file_hash(part).value_or("-");
    if (part == file) {
      input.hash = hash;
      return input;
    }
    hashes += part.lexically_relative(file).string() + " " + hash + "\n";
  }
  input.hash = content_hash(hashes);
  return input;
}

const std::string& InputHashes::of(const fs::path& file) { return read(file).hash; }

std::string InputHashes::of_unchanged(const fs::path& file, fs::file_time_type begin) {
  const Input& input = read(file);
  const bool may_differ =
      input.changed >= begin && input.changed <= fs::file_time_type::clock::now();
  return may_differ ? "changed" : input.hash;
}

}  // namespace instr
