#include "core/compile/cpp/tracked_artefacts.h"

#include <algorithm>
#include <set>

#include "core/base/checkout_guard.h"
#include "core/base/content_hash.h"
#include "core/base/place_below.h"
#include "core/base/trim.h"
#include "core/compile/cache.h"
#include "core/compile/source_writer.h"

namespace instr {

namespace {

constexpr int kMaxAttempts = 4;

std::string files_hint(const std::string& artefact) { return "files-" + content_hash(artefact); }

std::string content_hint(const std::string& identity) {
  return "made-of-" + content_hash(identity);
}

// A time in the future, as on a machine with a wrong clock, does not count as a change.
bool has_changed_since(fs::file_time_type begin, const fs::path& file) {
  std::error_code error;
  const auto time = fs::last_write_time(file, error);
  return !error && time >= begin && time <= fs::file_time_type::clock::now();
}

}  // namespace

// "unit.so: unit.cpp /a/my\ header.h \": spaces and # are escaped, $ is doubled.
std::vector<fs::path> parse_dependency_list(const std::string& list) {
  std::vector<fs::path> files;
  std::string word;
  const auto end_word = [&] {
    if (!word.empty()) files.emplace_back(std::exchange(word, ""));
  };
  const std::size_t target = list.find(": ");
  for (std::size_t i = target == list.npos ? list.size() : target + 2; i < list.size(); ++i) {
    const char c = list[i];
    const char next = i + 1 < list.size() ? list[i + 1] : '\n';
    const bool is_escape = c == '\\' && (next == ' ' || next == '#');
    if (is_escape || (c == '$' && next == '$')) {
      word += list[++i];
    } else if (c == ' ' || c == '\n' || (c == '\\' && next == '\n')) {
      end_word();
    } else {
      word += c;
    }
  }
  end_word();
  return files;
}

TrackedArtefacts::TrackedArtefacts(Cache& cache, std::vector<fs::path> known)
    : cache_(&cache), known_(std::move(known)) {}

std::optional<fs::path> TrackedArtefacts::find(const std::string& hint,
                                               const fs::path& root) const {
  const auto artefact = read_artefact_name(hint);
  const auto files = artefact ? read_files(*artefact) : std::nullopt;
  if (!files || !are_unchanged(*files, root)) return std::nullopt;
  record_files(*files, root);
  return cache_->find(*artefact);
}

Expected<fs::path> TrackedArtefacts::get(const ArtefactInputs& inputs, const Make& make) const {
  std::set<fs::path> files;  // inputs of earlier versions
  for (const std::string& hint : inputs.hints) {
    const auto artefact = read_artefact_name(hint);
    const auto before = artefact ? read_files(*artefact) : std::nullopt;
    for (const File& file : before.value_or(std::vector<File>{})) files.insert(file.path);
  }
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    const std::string identity = identify(inputs, files);
    const std::string artefact =
        read_artefact_name(content_hint(identity)).value_or(inputs.name_of(content_hash(identity)));
    TRY_ASSIGN(const auto place, cache_->get(artefact, [&](const fs::path& to) -> Expected<void> {
      const fs::path list = to.string() + ".d";
      const auto begin = fs::file_time_type::clock::now();
      TRY(make(to, list));
      keep_files(artefact, list, inputs.root, begin);
      return {};
    }));
    const auto made_of = read_files(artefact);
    if (!made_of) {
      cache_->discard(artefact);
      continue;
    }
    for (const File& file : *made_of) {
      files.insert(file.path);
      TRY(check_measured("a file that is included", inputs.root / file.path,
                         "name it, or its folder, relative to the definition file"));
    }
    if (are_unchanged(*made_of, inputs.root)) {
      record_files(*made_of, inputs.root);
      // Its name does not follow from files that were not known before it was made.
      cache_->write_hint(content_hint(identify(inputs, files)), artefact + "\n");
      for (const std::string& hint : inputs.hints) cache_->write_hint(hint, artefact + "\n");
      return place;
    }
    // Its files were not known before, and have changed since it was made.
  }
  return fail("included files change during compilation", "try again");
}

std::string TrackedArtefacts::identify(const ArtefactInputs& inputs,
                                       const std::set<fs::path>& files) const {
  std::string identity = inputs.identity;
  for (const fs::path& file : files) {
    identity += "\n" + file.string() + " " + hash_now(inputs.root / file);
  }
  return identity;
}

std::map<std::string, std::string> TrackedArtefacts::list_files(const std::string& artefact,
                                                                const fs::path& root) const {
  std::map<std::string, std::string> files;
  for (const File& file : read_files(artefact).value_or(std::vector<File>{})) {
    files.emplace((root / file.path).string(), file.hash);
  }
  return files;
}

void TrackedArtefacts::copy_files(const std::string& from, const std::string& to) const {
  if (const auto text = cache_->read_hint(files_hint(from))) {
    cache_->write_hint(files_hint(to), *text);
  }
}

std::optional<std::string> TrackedArtefacts::read_artefact_name(const std::string& hint) const {
  const auto text = cache_->read_hint(hint);
  return text ? std::optional(std::string(trim_end(*text, "\n"))) : std::nullopt;
}

std::optional<std::vector<TrackedArtefacts::File>> TrackedArtefacts::read_files(
    const std::string& artefact) const {
  const auto text = cache_->read_hint(files_hint(artefact));
  if (!text) return std::nullopt;
  std::vector<File> files;
  for (const std::string& line : to_lines(*text)) {
    const std::size_t space = line.find(' ');
    if (line.empty()) continue;
    if (space == line.npos) return std::nullopt;
    files.push_back({line.substr(space + 1), line.substr(0, space)});
  }
  return files;
}

void TrackedArtefacts::keep_files(const std::string& artefact, const fs::path& list,
                                  const fs::path& root, fs::file_time_type begin) const {
  std::string text;
  std::set<fs::path> seen;
  for (const fs::path& file : parse_dependency_list(read_text(list).value_or(""))) {
    const fs::path path = fs::absolute(file).lexically_normal();
    const bool is_known = std::any_of(known_.begin(), known_.end(), [&](const auto& folder) {
      return place_below(path, folder);
    });
    if (is_known || !seen.insert(path).second) continue;
    if (has_changed_since(begin, path)) {
      std::lock_guard lock(hashes_->mutex);
      hashes_->by_file.erase(path);
      return;
    }
    text += hash_now(path) + " " + place_in(root, path).string() + "\n";
  }
  cache_->write_hint(files_hint(artefact), text);
}

bool TrackedArtefacts::are_unchanged(const std::vector<File>& files, const fs::path& root) const {
  return std::all_of(files.begin(), files.end(), [&](const File& file) {
    return hash_now(root / file.path) == file.hash && check_measured("", root / file.path);
  });
}

void TrackedArtefacts::record_files(const std::vector<File>& files, const fs::path& root) const {
  std::vector<fs::path> paths;
  for (const File& file : files) paths.push_back(root / file.path);
  cache_->record_files(paths);
}

std::string TrackedArtefacts::hash_now(const fs::path& file) const {
  std::lock_guard lock(hashes_->mutex);
  auto [it, is_new] = hashes_->by_file.try_emplace(file);
  if (is_new) it->second = file_hash(file).value_or("-");
  return it->second;
}

}  // namespace instr
