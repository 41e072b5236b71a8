#include "core/measure/source_lines.h"

#include <re2/re2.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/base/source_text.h"
#include "core/base/trim.h"
#include "core/compile/generate.h"
#include "core/compile/source_writer.h"

namespace instr {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kLongestText = 400;

// In the cache, plain and beside its precompiled form.
bool is_support_header(const std::string& file) {
  static const RE2 header(R"(/(support-[0-9a-f]{32}|pch-[0-9a-f]{32}/support)\.h$)");
  return RE2::PartialMatch(file, header);
}

std::string name_here(const std::string& file) {
  if (const auto marked = file_of_marker(file)) return *marked;
  if (file.empty() || file == "???" || is_support_header(file)) return "";
  std::error_code error;
  const fs::path path = fs::path(file).lexically_normal();
  const fs::path below = path.lexically_relative(fs::current_path(error));
  const bool is_below = !error && !below.empty() && *below.begin() != "..";
  return (path.is_absolute() && is_below ? below : path).string();
}

// None if the file cannot be read, as where it was compiled elsewhere.
std::vector<std::string> lines_in(const std::string& file) {
  std::vector<std::string> lines;
  const auto source = SourceText::read(file);
  if (!source) return lines;
  for (const std::string& line : lines_of(source->text())) {
    lines.emplace_back(trim(line, " \t\r").substr(0, kLongestText));
  }
  return lines;
}

}  // namespace

void name_files(Profile& profile) {
  for (std::string& file : profile.files) file = name_here(file);
}

std::shared_ptr<const LineCosts> source_lines(const Profile& profile, std::uint64_t iterations) {
  auto costs = std::make_shared<LineCosts>(line_costs(profile, iterations));
  std::map<std::string, std::vector<std::string>> files;
  for (LineCost& line : costs->lines) {
    auto [entry, is_new] = files.try_emplace(line.file);
    if (is_new) entry->second = lines_in(line.file);
    const auto at = static_cast<std::size_t>(line.line) - 1;
    if (at < entry->second.size()) line.text = entry->second[at];
  }
  return costs;
}

}  // namespace instr
