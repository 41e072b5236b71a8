// Reads the file of --limits: limits of many benchmarks, by patterns of their keys.
//   [[limit]]
//   keys = "^matmul/"                         # or a list
//   hard = { instructions = "1%|+200", allocs = "+0" }
//   soft = { instructions = "0.2%", allocs = "none" }
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/source_text.h"
#include "core/compare/compare.h"
#include "core/definitions/snippet.h"

namespace instr {

struct LimitsEntry {       // a [[limit]]
  std::vector<Text> keys;  // RE2 patterns; a key matches if any of them matches a part of it
  Limits limits;
};

using LimitsFile = std::vector<LimitsEntry>;  // entries in the order written

// Returns all errors of the file, in its order. A file without a [[limit]] is an error.
tl::expected<LimitsFile, Errors> read_limits_file(const std::filesystem::path& file);
tl::expected<LimitsFile, Errors> parse_limits_file(const SourceText& source);

struct ResolvedLimits {
  // As CompareOptions::by_key. The last entry that matches a key and has a limit for a metric
  // applies; keys without a match are absent.
  std::map<std::string, Limits> by_key;
  // Warnings, with their places: patterns that match no key, or only missing ones. A misspelt
  // pattern would otherwise silently disable a limit.
  Errors unmatched;
};

// `missing`: keys that exist only in the baseline.
ResolvedLimits resolve_limits(const LimitsFile& file, const std::vector<std::string>& keys,
                              const std::set<std::string>& missing = {});

}  // namespace instr
