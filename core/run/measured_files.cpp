#include "core/run/measured_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/base/checkout_guard.h"
#include "core/base/environment.h"
#include "core/base/format.h"
#include "core/base/git.h"
#include "core/base/output.h"
#include "core/base/paths.h"
#include "core/base/read_file.h"

namespace instr {

namespace {

constexpr std::string_view kPointerStart = "version https://git-lfs.github.com/spec/";
constexpr std::uintmax_t kMaxPointerBytes = 1024;

constexpr const char* kIsPointer = "is a pointer of Git LFS, not the file itself";
constexpr const char* kIsNotInCommit = "is in the checked-out tree, but not in the commit";

// Adds what follows a quote and begins with a slash, up to the same quote or the end of the line.
void add_named(const std::string& text, std::set<fs::path>& files) {
  for (std::size_t at = 0; (at = text.find_first_of("\"'", at)) != text.npos; ++at) {
    const std::size_t end = text.find_first_of(std::string{text[at], '\n'}, at + 1);
    const std::string word = text.substr(at + 1, end - at - 1);
    if (word.starts_with('/')) files.insert(word);
  }
}

std::vector<const Text*> texts_of(const Variant& variant) {
  std::vector<const Text*> texts;
  for (const auto* list : {&variant.global_setups, &variant.setups}) {
    for (const Text& text : *list) texts.push_back(&text);
  }
  for (const auto* text : {&variant.stmt, &variant.torchscript, &variant.module}) {
    if (*text) texts.push_back(&**text);
  }
  return texts;
}

bool is_installed(const fs::path& file) {
  return std::ranges::any_of(file, [](const fs::path& part) {
    return part == "site-packages" || part == "dist-packages";
  });
}

fs::path resolved(const fs::path& path) {
  std::error_code ignored;
  return fs::weakly_canonical(path, ignored);
}

// Lists the files that were measured.
std::set<fs::path> list_measured(const std::vector<Measurement>& measurements,
                                 const MeasureEnd& ended) {
  std::set<fs::path> files = ended.files_read;
  for (const Measurement& measurement : measurements) {
    const Variant& variant = measurement.variant;
    files.merge(named_files(variant));
    if (!variant.where.file.empty()) files.insert(variant.where.file);
    if (variant.build) {
      files.insert(variant.build->where.file);
      files.insert(variant.build->sources.begin(), variant.build->sources.end());
    }
    const auto* counted = std::get_if<Counted>(&measurement.outcome);
    if (counted != nullptr) files.insert(counted->files.begin(), counted->files.end());
  }
  return files;
}

Expected<std::vector<Stranger>> find_strangers(const std::vector<Measurement>& measurements,
                                               const MeasureEnd& ended) {
  std::vector<fs::path> folders;
  for (const fs::path& folder : ended.known_files) folders.push_back(resolved(folder));
  std::set<fs::path> judged;
  for (const fs::path& named : list_measured(measurements, ended)) {
    const fs::path file = resolved(named);
    const bool is_known = std::ranges::any_of(
        folders, [&file](const fs::path& folder) { return place_below(file, folder).has_value(); });
    if (!is_known && !is_installed(file)) judged.insert(file);
  }
  TRY_ASSIGN(auto strangers, Repository().find_strangers(judged));
  if (const auto tree = variable_value(kTreeVariable)) {
    std::erase_if(strangers, [top = resolved(*tree)](const Stranger& stranger) {
      return !stranger.is_tracked && place_below(stranger.file, top);
    });
  }
  return strangers;
}

}  // namespace

std::set<fs::path> named_files(const Variant& variant) {
  std::set<fs::path> files;
  for (const Text* text : texts_of(variant)) add_named(text->code, files);
  if (variant.package) files.insert(variant.package->code);
  return files;
}

std::vector<std::string> list_strangers(const std::vector<Measurement>& measurements,
                                        const MeasureEnd& ended,
                                        const std::optional<ResultsHeader>& header,
                                        bool is_recorded) {
  std::vector<std::string> strangers;
  if (!header || (header->commit.empty() && !is_recorded)) return strangers;
  const auto found = find_strangers(measurements, ended);
  if (!found) return strangers;  // no repository: recording has said so before
  for (const Stranger& stranger : *found) strangers.push_back(to_string(stranger));
  if (!strangers.empty() && !is_recorded) {
    print_message(fmt::format("files were measured that are not of commit {}: {}\n",
                              short_hash(header->commit), list_some(strangers)));
  }
  return strangers;
}

std::optional<std::string> explain_missing_file(const Variant& variant) {
  for (const fs::path& file : named_files(variant)) {
    std::error_code error;
    const auto bytes = fs::file_size(file, error);
    if (!error && bytes <= kMaxPointerBytes &&
        read_file(file, kMaxPointerBytes).value_or("").starts_with(kPointerStart)) {
      return fmt::format("{} {}: git lfs install, git lfs pull", file.string(), kIsPointer);
    }
    const auto checked_out = in_checkout(file);
    if (fs::exists(file, error) || !checked_out || !fs::exists(*checked_out, error)) continue;
    return fmt::format("{} {} (ignored by git?): commit it, or name one outside of the project",
                       checked_out->string(), kIsNotInCommit);
  }
  return std::nullopt;
}

bool is_due_to_setup(const std::string& failure) {
  return std::ranges::any_of(
      std::array{kIsPointer, kIsNotInCommit, kAnotherIsMeasured},
      [&failure](const char* words) { return failure.find(words) != failure.npos; });
}

}  // namespace instr
