// A comparison as text: a table for a terminal, and Markdown made for the comment on a merge. Pure
// functions; both end with a newline, and hold no control characters but newlines and colours.
#pragma once

#include <cstddef>
#include <string>

#include "core/compare/compare.h"

namespace instr {

struct CompareTableOptions {
  int width = 0;  // columns of the terminal; 0: no limit
  bool color = false;
  bool show_same = false;              // rows without a difference too
  bool show_keys = false;              // keys are never shortened
  std::size_t most_attributions = 20;  // rows whose functions are shown, what matters most first
};

// Every row that is not the same, with each metric that changed; if the functions of the first
// ones changed; a summary. Lines take at most `width` columns, but for keys if that is less than
// a table needs: there a key has its own line and stays whole.
std::string compare_table(const Comparison& comparison, const CompareTableOptions& options = {});

struct CompareMarkdownOptions {
  // GitHub takes 65,536 characters of a comment and GitLab more; the rest is for what a caller puts
  // around it. At least 2,000.
  std::size_t most_bytes = 60000;
  std::size_t most_attributions = 50;
};

// The verdict, a table of what fails, warns or gains, and the rest folded: where the change is,
// what changed within the limits, and what has no counts. Never longer than `most_bytes` (so not
// more characters than that either); what was left out is said at the end. Nothing else takes the
// place of a row that fails.
std::string compare_markdown(const Comparison& comparison,
                             const CompareMarkdownOptions& options = {});

}  // namespace instr
