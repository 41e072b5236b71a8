#include "core/results/baselines.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <system_error>

#include "core/base/environment.h"
#include "core/base/near_match.h"
#include "core/base/output.h"
#include "core/results/profiles_file.h"

namespace instr {

namespace {

constexpr const char* kFolder = ".instr_bench";
constexpr const char* kExtension = ".jsonl";

bool is_name(const std::string& text) {
  auto is_alphanumeric = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  return !text.empty() && text.size() <= 200 && is_alphanumeric(text[0]) &&
         std::ranges::all_of(
             text, [&](char c) { return is_alphanumeric(c) || c == '.' || c == '_' || c == '-'; });
}

// The nearest folder, from the working directory up, that contains `name`.
std::optional<fs::path> nearest_with(const char* name) {
  std::error_code error;
  for (fs::path folder = fs::current_path(error); !folder.empty(); folder = folder.parent_path()) {
    if (fs::exists(folder / name, error)) return folder;
    if (folder == folder.parent_path()) break;
  }
  return std::nullopt;
}

Expected<void> check(const std::error_code& error, const fs::path& path, const char* what) {
  if (!error) return {};
  return fail_at(path, std::string(what) + ": " + error.message(), "make the folder writable");
}

Expected<void> move_file(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  return check(error, to, "cannot write");
}

// Locks the baselines; nothing if the file system has no locks.
std::optional<FileLock> lock(const fs::path& folder, LockKind kind) {
  auto say = [&folder] {
    print_message("waiting for another run that uses the baselines in '" + folder.string() + "'\n");
  };
  auto held = FileLock::wait_for_folder(folder, kind, {.say = say});
  return held ? std::optional(std::move(*held)) : std::nullopt;
}

// Moves results with their profiles. Readers that take the lock see both renames or none; if a kill
// leaves only one of them done, the second line of the profiles shows it.
Expected<void> move_all(const fs::path& from, const fs::path& to) {
  const auto held = lock(to.parent_path(), LockKind::kExclusive);
  std::error_code error;
  if (fs::exists(profiles_path(from), error)) {
    TRY(move_file(profiles_path(from), profiles_path(to)));
  } else {
    fs::remove(profiles_path(to), error);
  }
  return move_file(from, to);
}

Expected<void> copy_all(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::copy_file(from, to, error);
  if (!error && fs::exists(profiles_path(from), error)) {
    fs::copy_file(profiles_path(from), profiles_path(to), error);
  }
  return check(error, to, "cannot write");
}

}  // namespace

fs::path project_folder() {
  auto top = nearest_with(kFolder);
  if (!top) top = nearest_with(".git");
  std::error_code ignored;
  return top.value_or(fs::current_path(ignored)) / kFolder;
}

fs::path baselines_folder() {
  if (const auto given = variable_value("INSTR_BENCH_BASELINES")) return *given;
  return project_folder() / "baselines";
}

Expected<fs::path> baseline_path(const std::string& name) {
  if (!is_name(name)) {
    return fail("`" + name + "` cannot be a baseline's name",
                "use letters, digits, `.`, `_` and `-`, such as `main`; a file is kept by "
                "--output=FILE");
  }
  return baselines_folder() / (name + kExtension);
}

Expected<fs::path> find_baseline(const std::string& name_or_file) {
  std::error_code error;
  auto named = baseline_path(name_or_file);
  if (named && fs::exists(*named, error)) return named;
  if (fs::exists(name_or_file, error)) return fs::path(name_or_file);
  std::vector<std::string> names = baseline_names();
  std::string advice = "make one with instr_bench --save=" + (named ? name_or_file : "NAME");
  if (!names.empty()) advice += "; " + did_you_mean(name_or_file, names);
  return fail("there is no baseline `" + name_or_file + "`, and no such file", advice);
}

std::vector<std::string> baseline_names() {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(baselines_folder(), error)) {
    const fs::path& file = entry.path();
    if (file.extension() == kExtension) names.push_back(file.stem().string());
  }
  std::ranges::sort(names);
  return names;
}

Expected<BaselineDraft> BaselineDraft::start(const std::string& name) {
  TRY_ASSIGN(auto path, baseline_path(name));
  const fs::path parent = path.parent_path();
  std::error_code error;
  fs::create_directories(parent, error);
  TRY(check(error, parent, "cannot make"));
  auto folder = PrivateFolder::make_in(parent);
  if (!folder) TRY(check({folder.error(), std::generic_category()}, parent, "cannot write"));
  return BaselineDraft(std::move(path), std::move(*folder));
}

Expected<fs::path> BaselineDraft::publish(const fs::path& file) const {
  if (file != this->file()) TRY(copy_all(file, this->file()));
  TRY(move_all(this->file(), baseline_));
  return baseline_;
}

Expected<fs::path> BaselineDraft::keep() const {
  fs::path kept = baseline_;
  kept.replace_extension(".partial");
  TRY(move_all(file(), kept));
  return kept;
}

std::optional<FileLock> hold_baselines(const fs::path& file) {
  std::error_code error;
  const bool is_baseline =
      fs::equivalent(fs::absolute(file, error).parent_path(), baselines_folder(), error);
  return is_baseline ? lock(baselines_folder(), LockKind::kShared) : std::nullopt;
}

Expected<void> remove_baseline(const std::string& name) {
  TRY_ASSIGN(auto path, baseline_path(name));
  std::error_code error;
  if (!fs::exists(path, error)) {
    return fail("there is no baseline `" + name + "`", did_you_mean(name, baseline_names()));
  }
  const auto held = lock(path.parent_path(), LockKind::kExclusive);
  fs::remove(path, error);
  TRY(check(error, path, "cannot remove"));
  fs::remove(profiles_path(path), error);
  return {};
}

}  // namespace instr
