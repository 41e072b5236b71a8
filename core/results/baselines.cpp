#include "core/results/baselines.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <optional>
#include <system_error>

#include "core/base/near_match.h"
#include "core/results/results.h"

namespace instr {

namespace fs = std::filesystem;

namespace {

constexpr const char* kFolder = ".instr_bench";
constexpr const char* kExtension = ".jsonl";

bool is_name(const std::string& text) {
  auto is_alphanumeric = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  return !text.empty() && text.size() <= 200 && is_alphanumeric(text[0]) &&
         std::all_of(text.begin(), text.end(), [&](char c) {
           return is_alphanumeric(c) || c == '.' || c == '_' || c == '-';
         });
}

// The nearest folder, from the working directory up, that has `name` in it.
std::optional<fs::path> nearest_with(const char* name) {
  std::error_code error;
  for (fs::path folder = fs::current_path(error); !folder.empty(); folder = folder.parent_path()) {
    if (fs::exists(folder / name, error)) return folder;
    if (folder == folder.parent_path()) break;
  }
  return std::nullopt;
}

Error io_error(const fs::path& path, const char* what, const std::error_code& error) {
  return {{path.string()}, std::string(what) + ": " + error.message(),
          "see that the folder can be written to"};
}

// In one step for whoever reads `to`.
Expected<void> put(const fs::path& from, const fs::path& to, bool move) {
  std::error_code error;
  fs::path source = from;
  if (!move) {
    source = to;
    source += ".new";
    fs::copy_file(from, source, fs::copy_options::overwrite_existing, error);
    if (error) return tl::unexpected(io_error(to, "cannot write", error));
  }
  fs::rename(source, to, error);
  if (error) return tl::unexpected(io_error(to, "cannot write", error));
  return {};
}

fs::path partial_path(const fs::path& baseline) {
  fs::path path = baseline;
  return path.replace_extension(".partial");
}

}  // namespace

fs::path baselines_folder() {
  if (const char* given = std::getenv("INSTR_BENCH_BASELINES"); given != nullptr && *given != 0) {
    return given;
  }
  auto top = nearest_with(kFolder);
  if (!top) top = nearest_with(".git");
  std::error_code ignored;
  return top.value_or(fs::current_path(ignored)) / kFolder / "baselines";
}

Expected<fs::path> baseline_path(const std::string& name) {
  if (!is_name(name)) {
    return fail("`" + name + "` can be no baseline's name",
                "take letters, digits, `.`, `_` and `-`, such as `main`; a file is kept by "
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
  std::string advice = "make one with --save=" + (named ? name_or_file : "NAME");
  if (!names.empty()) advice += "; " + did_you_mean(name_or_file, names);
  return fail("there is no baseline `" + name_or_file + "`, and no such file", advice);
}

std::vector<std::string> baseline_names() {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(baselines_folder(), error)) {
    fs::path file = entry.path().filename();
    bool is_functions = file.string().find(".functions.") != std::string::npos;
    if (file.extension() == kExtension && !is_functions) names.push_back(file.stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Expected<fs::path> start_baseline(const std::string& name) {
  auto path = baseline_path(name);
  if (!path) return path;
  std::error_code error;
  fs::create_directories(path->parent_path(), error);
  if (error) return tl::unexpected(io_error(path->parent_path(), "cannot make", error));
  return partial_path(*path);
}

Expected<fs::path> finish_baseline(const std::string& name, const fs::path& file) {
  auto path = baseline_path(name);
  if (!path) return path;
  bool move = file == partial_path(*path);
  std::error_code error;
  if (fs::exists(functions_path(file), error)) {
    auto put_functions = put(functions_path(file), functions_path(*path), move);
    if (!put_functions) return tl::unexpected(put_functions.error());
  } else {
    fs::remove(functions_path(*path), error);
  }
  return put(file, *path, move).map([&path] { return *path; });
}

Expected<void> remove_baseline(const std::string& name) {
  auto path = baseline_path(name);
  if (!path) return tl::unexpected(path.error());
  std::error_code error;
  if (!fs::exists(*path, error)) {
    return fail("there is no baseline `" + name + "`", did_you_mean(name, baseline_names()));
  }
  fs::remove(*path, error);
  if (error) return tl::unexpected(io_error(*path, "cannot remove", error));
  fs::remove(functions_path(*path), error);
  return {};
}

}  // namespace instr
