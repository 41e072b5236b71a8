#include "core/measure/source_lines.h"

#include <re2/re2.h>

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/source_text.h"
#include "core/base/trim.h"
#include "core/compile/generate.h"

namespace instr {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kLongestText = 400;

// In the cache, plain and beside its precompiled form.
bool is_support_header(const std::string& file) {
  static const RE2 header(R"(/(support-[0-9a-f]{32}|pch-[0-9a-f]{32}/support)\.h$)");
  return RE2::PartialMatch(file, header);
}

// None if the file cannot be read, as where it was compiled elsewhere.
std::vector<std::string> lines_in(const std::string& file) {
  std::vector<std::string> lines;
  const auto source = SourceText::read(file);
  if (!source) return lines;
  for (std::string_view text = source->text(); !text.empty();) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(trim(text.substr(0, end), " \t\r").substr(0, kLongestText));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

std::string shown_file(const std::string& file) {
  if (const auto marked = file_of_marker(file)) return *marked;
  if (file.empty() || file == "???" || is_support_header(file)) return "";
  std::error_code error;
  const fs::path path = fs::path(file).lexically_normal();
  const fs::path below = path.lexically_relative(fs::current_path(error));
  const bool is_below = !error && !below.empty() && *below.begin() != "..";
  return (path.is_absolute() && is_below ? below : path).string();
}

std::shared_ptr<const LineCosts> source_lines(const Profile& profile, std::uint64_t iterations) {
  auto costs = std::make_shared<LineCosts>(line_costs(profile, iterations, shown_file));
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
