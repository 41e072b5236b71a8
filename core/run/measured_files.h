// The files that a run has measured, besides LibTorch and the system: whether they are the
// commit's, and why they are missing.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/run/pipeline.h"

namespace instr {

// Lists the files that snippets name in their texts, such as models: absolute paths in quotes.
std::set<std::filesystem::path> named_files(const Variant& variant);

// Describes the files that are not of the commit that is checked out: definitions and files that
// they name, what compilers have read, and what was loaded to count. Not LibTorch and our own
// files, whose identity is in the fingerprint, and no installed package. In the tree of another
// commit (core/base/checkout_guard.h), new files are what its build made. Empty unless the results
// name a commit or are recorded as one's. Prints them, unless recording will name them.
std::vector<std::string> list_strangers(const std::vector<Measurement>& measurements,
                                        const MeasureEnd& ended,
                                        const std::optional<ResultsHeader>& header,
                                        bool is_recorded);

// Says so if a file that the snippet names is not the one that it needs: a pointer of Git LFS, or
// missing in the tree of a commit since git does not have it. Likely why the snippet failed.
std::optional<std::string> explain_missing_file(const Variant& variant);

// Returns whether a failure is due to that, or to a file of the checked-out tree that was loaded
// while another commit is measured, so that it says nothing about the commit.
bool is_due_to_setup(const std::string& failure);

}  // namespace instr
