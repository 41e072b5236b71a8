// A comparison as text: a table for a terminal, and Markdown for a comment on a merge request. Pure
// functions; both end with a newline, and hold no control characters but newlines and colours.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/compare/compare.h"

namespace instr {

struct CompareTableOptions {
  int width = 0;  // columns of the terminal; 0: no limit
  bool color = false;
  bool show_same = false;             // also rows without a difference
  bool show_keys = false;             // keys are never shortened
  std::size_t max_attributions = 20;  // rows whose functions are shown, most important first
};

// Every row that is not the same, with each metric that changed; the functions in which the first
// ones changed; a summary. Lines take at most `width` columns, except for keys if that is less than
// a table needs: then a key has its own line and stays whole.
std::string compare_table(const Comparison& comparison, const CompareTableOptions& options = {});

// The calls that changed, with a heading; empty if none are known. Here as below, lines take at
// most `width` columns (0: 120, as in a pipe).
std::string calls_text(const Attribution& attribution, std::size_t width);

// The functions in which it changed: "  +80  at::native::dot  libtorch_cpu.so  calls 1 -> 2", the
// columns aligned.
std::string functions_text(const Attribution& attribution, std::size_t width);

// The same by source line, in lines of at most `width` columns (0: any): what it cost before and
// costs after, where it is, and the source, with - and + before what is gone and new.
std::string lines_text(const LineChanges& changes, std::size_t width);

struct CompareMarkdownOptions {
  // GitHub allows 65,536 characters in a comment and GitLab more; the rest is for the caller's own
  // text. At least 2,000.
  std::size_t max_bytes = 60000;
  std::size_t max_attributions = 50;
};

// Printable text of at most so many columns as code, in which an "@name" does not mention anybody.
std::string markdown_code(std::string_view text, std::size_t width);

// A line with the key, and a table of the functions.
std::string attribution_markdown(const std::vector<std::string>& keys,
                                 const Attribution& attribution);

// The verdict, a table of the rows that fail, warn or gained, and the rest folded: the functions
// that changed, changes within the limits, and rows without counts. Never longer than `most_bytes`
// (and so not in characters either); omissions are listed at the end. A failing row is never
// omitted in favour of anything else.
std::string compare_markdown(const Comparison& comparison,
                             const CompareMarkdownOptions& options = {});

}  // namespace instr
