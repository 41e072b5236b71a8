// The output of `list` and --dry-run: the selected variants, and what a run would do with each.
#pragma once

#include <string>
#include <vector>

#include "core/compile/compiled_variant.h"
#include "core/definitions/variant.h"
#include "core/report/document.h"

namespace instr {

// "n=4 m=8"
std::string params_text(const Variant& variant);

// A key per line, in the order of the variants.
std::string list_keys(const std::vector<Variant>& variants);

// A row for each variant; for programs with its parameters, tags, file and line.
Document list_document(const std::vector<Variant>& variants);

// "312 variants of 95 benchmarks", with a newline: for standard error of a terminal.
std::string list_summary(const std::vector<Variant>& variants);

// "compile  matmul/mm/..." for each, then a line with the totals; ends with a newline.
std::string dry_run_text(const std::vector<PlannedVariant>& variants, bool color);

}  // namespace instr
