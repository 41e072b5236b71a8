// The output of `list` and --dry-run: the selected variants, and what a run would do with each.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/compile/planned_variant.h"
#include "core/definitions/variant.h"

namespace instr {

enum class ListFormat {
  kKeys,  // one per line
  kJson,  // a list of objects, one per line
  kCsv,   // RFC 4180, with a header line
};

// In their order.
std::string list_text(const std::vector<Variant>& variants, ListFormat format = ListFormat::kKeys);

// "312 variants of 95 benchmarks", with a newline: for standard error of a terminal.
std::string list_summary(const std::vector<Variant>& variants);

// "compile  matmul/mm/..." for each, then a line with the totals; ends with a newline.
std::string dry_run_text(const std::vector<PlannedVariant>& variants, bool color);

}  // namespace instr
