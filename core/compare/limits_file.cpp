#include "core/compare/limits_file.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <string_view>

#include "core/definitions/limit.h"
#include "core/definitions/toml_reader.h"

namespace instr {
namespace {

constexpr Key kFileKeys[] = {{"limit", Shape::kTables, "[[limit]]"}};

constexpr Key kEntryKeys[] = {
    {"keys", Shape::kStrings, "keys = \"^matmul/\""},
    {"hard", Shape::kTable, "hard = { instructions = \"1%\" }"},
    {"soft", Shape::kTable, "soft = { instructions = \"0.2%\" }"},
};

constexpr const char* kLimitExample =
    "write for example `keys = \"^matmul/\"` and `hard = { instructions = \"1%\" }`";

re2::RE2::Options quiet_options() {
  re2::RE2::Options options;
  options.set_log_errors(false);
  return options;
}

std::vector<Text> read_patterns(const TableReader& read) {
  std::vector<Text> patterns = read.texts("keys");
  for (const Text& text : patterns) {
    const re2::RE2 pattern(text.code, quiet_options());
    if (pattern.ok()) continue;
    read.add_error(
        text.where,
        fmt::format("`{}` is not a valid regular expression: {}", text.code, pattern.error()),
        "patterns are RE2's (https://github.com/google/re2/wiki/Syntax)");
  }
  const bool is_reported = read.has("keys") && !read.get("keys");
  if (patterns.empty() && !is_reported) {
    read.add_error(read.place("keys"), "this limit names no keys",
                   "add `keys = \"^matmul/\"`; `keys = \"\"` matches all");
  }
  return patterns;
}

// Reads { instructions = "0.5%", allocs = "+0" }. `title` names the table in messages. Invalid
// limits and unknown metrics are left out and added to `errors`.
std::map<std::string, Limit> read_limits(const toml::table& table, std::string_view title,
                                         const SourceText& source, Errors& errors) {
  std::map<std::string, Limit> limits;
  for (const auto& [metric, text] :
       read_limit_texts(TableReader(table, title, limit_keys(), source, errors))) {
    if (auto limit = parse_limit(text)) limits.emplace(metric, *limit);
  }
  return limits;
}

LimitsEntry read_entry(const toml::table& table, const SourceText& source, Errors& errors) {
  const TableReader read(table, "[[limit]]", kEntryKeys, source, errors);
  LimitsEntry entry;
  entry.keys = read_patterns(read);
  bool has_any = false;
  const auto take = [&](std::string_view key, std::map<std::string, Limit>& limits) {
    has_any = has_any || read.has(key);
    const toml::table* given = read.table(key);
    if (!given) return;
    limits = read_limits(*given, fmt::format("`{}`", key), source, errors);
    if (given->empty())
      read.add_error(read.place(key), fmt::format("`{}` is empty", key), kLimitExample);
  };
  take("hard", entry.limits.hard);
  take("soft", entry.limits.soft);
  if (!has_any)
    read.add_error(toml_location(table, source), "this limit sets no metric", kLimitExample);
  return entry;
}

}  // namespace

tl::expected<LimitsFile, Errors> parse_limits_file(const SourceText& source) {
  TRY_ASSIGN(const auto table, parse_toml(source));
  Errors errors;
  LimitsFile file;
  const TableReader read(table, "a file of limits", kFileKeys, source, errors);
  if (const toml::node* entries = read.get("limit")) {
    for (const toml::node& entry : *entries->as_array()) {
      file.push_back(read_entry(*entry.as_table(), source, errors));
    }
  }
  if (file.empty() && errors.empty()) {
    errors.push_back({source.at(0, 0), "there is no limit in this file",
                      "add a [[limit]]: " + std::string(kLimitExample)});
  }
  if (errors.empty()) return file;
  sort_by_place(errors);
  return fail(std::move(errors));
}

tl::expected<LimitsFile, Errors> read_limits_file(const fs::path& file) {
  TRY_ASSIGN(const auto source, SourceText::read(file));
  return parse_limits_file(source);
}

ResolvedLimits resolve_limits(const LimitsFile& file, const std::vector<std::string>& keys,
                              const std::set<std::string>& missing) {
  ResolvedLimits resolved;
  for (const LimitsEntry& entry : file) {
    for (const Text& text : entry.keys) {
      const re2::RE2 pattern(text.code, quiet_options());
      std::size_t matched = 0;
      std::size_t matched_missing = 0;
      for (const std::string& key : keys) {
        if (!re2::RE2::PartialMatch(key, pattern)) continue;
        ++matched;
        if (missing.contains(key)) ++matched_missing;
        Limits& limits = resolved.by_key[key];
        for (const auto& [metric, limit] : entry.limits.hard) limits.hard[metric] = limit;
        for (const auto& [metric, limit] : entry.limits.soft) limits.soft[metric] = limit;
      }
      if (matched > matched_missing) continue;
      const char* what =
          matched == 0 ? "no benchmark's key matches" : "only missing benchmarks match";
      resolved.unmatched.push_back({text.where, fmt::format("{} `{}`", what, text.code),
                                    "so this limit has no effect: correct it, or remove it"});
    }
  }
  return resolved;
}

}  // namespace instr
