// A comparison as GitHub's Markdown, which GitLab reads too, for a comment on a merge request.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/base/format.h"
#include "core/report/comparison_report.h"
#include "core/report/comparison_text.h"

namespace instr {

namespace {

constexpr std::size_t kMinBytes = 2000;
constexpr std::size_t kReserve = 700;   // bytes for the note about omissions
constexpr std::size_t kKeyWidth = 160;  // columns; longer keys lose their middle
constexpr std::size_t kFunctionWidth = 100;
constexpr std::size_t kCallWidth = 160;
constexpr std::size_t kReasonWidth = 300;

// Printable text with the characters that Markdown, HTML or a table would interpret as character
// references.
std::string literal(std::string_view text) {
  static constexpr std::string_view kSpecial = "&<>|`*_~[]\\#@!$:";
  std::string out;
  for (char c : text) {
    if (kSpecial.find(c) != std::string_view::npos) {
      out += fmt::format("&#{};", static_cast<int>(c));
    } else {
      out += c;
    }
  }
  return out;
}

// Text of a limited number of bytes: each piece is added whole, or left out.
class Budget {
 public:
  explicit Budget(std::size_t bytes) : left_(bytes) {}

  bool add(const std::string& piece) {
    if (piece.size() > left_) return false;
    left_ -= piece.size();
    text_ += piece;
    return true;
  }

  // Adds pieces between `head` and `tail`, at most `max` bytes. Returns how many of the pieces did
  // not fit; a piece that is too large does not keep out the others.
  std::size_t add_block(const std::string& head, const std::vector<std::string>& pieces,
                        const std::string& tail, std::size_t max) {
    std::size_t space = std::min(left_, max);
    std::string block = head;
    std::size_t left_out = 0;
    for (const std::string& piece : pieces) {
      if (block.size() + piece.size() + tail.size() > space) {
        ++left_out;
      } else {
        block += piece;
      }
    }
    if (left_out < pieces.size()) add(block + tail);
    return left_out;
  }

  void close() { left_ = 0; }

  std::size_t left() const { return left_; }
  std::string text() && { return std::move(text_); }

 private:
  std::size_t left_;
  std::string text_;
};

std::string folded(const std::string& title) {
  return "\n<details>\n<summary>" + title + "</summary>\n\n";
}

std::string folded(const std::string& title, const std::vector<std::string>& benchmarks) {
  return folded(fmt::format("{} ({})", title, format_plural(benchmarks.size(), "benchmark")));
}

constexpr const char* kFoldEnd = "\n</details>\n";
constexpr const char* kTableHead =
    "| benchmark | before | after | change | | result |\n|:---|---:|---:|---:|---:|:---|\n";

std::string table_piece(const ComparedRow& row) {
  std::string out;
  for (const CompareLine& line : compare_lines(row)) {
    std::string name = line.is_key ? markdown_code(line.name, kKeyWidth)
                                   : "&nbsp;&nbsp;" + literal(shorten_middle(line.name, kKeyWidth));
    const bool is_bold = line.tone == Tone::kBad && !line.result.empty();
    const std::string result = is_bold ? "**" + line.result + "**" : line.result;
    out += fmt::format("| {} | {} | {} | {} | {} | {} |\n", name, line.before, line.after,
                       line.change, literal(line.relative), result);
  }
  return out;
}

std::string reason_piece(const ComparedRow& row) {
  std::string reason =
      row.reason.empty() ? "" : ": " + literal(shorten_end(printable(row.reason), kReasonWidth));
  return fmt::format("- {} {}{}\n", markdown_code(printable(row.key), kKeyWidth),
                     to_string(row.state), reason);
}

// "+80 instructions", the calls and the functions.
std::string places_markdown(const Attribution& attribution) {
  std::string out = fmt::format("{} {}\n\n", format_change(attribution.difference),
                                literal(printable(attribution.metric)));
  for (const CallLine& line : call_lines(attribution, kCallWidth)) {
    out += fmt::format("- {}: {}\n", line.change, markdown_code(line.text, kCallWidth));
  }
  out += attribution.calls.empty() ? "" : "\n";
  out += "| change | function | library | calls |\n|---:|:---|:---|---:|\n";
  for (const AttributionLine& line : attribution_lines(attribution, kFunctionWidth)) {
    out += fmt::format("| {} | {} | {} | {} |\n", line.change,
                       markdown_code(line.function, kFunctionWidth + 20),
                       literal(shorten_middle(line.object, kKeyWidth)), literal(line.calls));
  }
  return out;
}

}  // namespace

std::string markdown_code(std::string_view text, std::size_t width) {
  return "<code>" + literal(shorten_middle(text, width)) + "</code>";
}

std::string attribution_markdown(const std::vector<std::string>& keys,
                                 const Attribution& attribution) {
  std::vector<std::string> names;
  for (const std::string& key : keys) names.push_back(markdown_code(printable(key), kKeyWidth));
  return fmt::format("\n{}: {}", fmt::join(names, ", "), places_markdown(attribution));
}

namespace {

struct Pieces {
  std::vector<std::string> failures;
  std::vector<std::string> attention;  // warns or gained
  std::vector<std::string> attributions;
  std::vector<std::string> changes;  // within the limits
  std::vector<std::string> reasons;
  std::size_t attributions_left_out = 0;
};

Pieces collect_pieces(const Comparison& comparison, const CompareMarkdownOptions& options) {
  Pieces pieces;
  pieces.attributions_left_out = comparison.not_attributed;
  for (const ComparedRow& row : comparison.rows) {
    const bool has_changed = row.state == RowState::kSlower || row.state == RowState::kFaster;
    if (row.verdict == Verdict::kFails) {
      pieces.failures.push_back(table_piece(row));
    } else if (row.verdict != Verdict::kPasses) {
      pieces.attention.push_back(table_piece(row));
    } else if (has_changed) {
      pieces.changes.push_back(table_piece(row));
    }
    const bool is_explained = has_changed || row.state == RowState::kSame;
    if (!is_explained || !row.reason.empty()) pieces.reasons.push_back(reason_piece(row));
  }
  const auto changes = same_changes(
      comparison, [](const ComparedRow& row) { return places_markdown(*row.attribution); });
  for (const SameChange& change : changes) {
    if (pieces.attributions.size() == options.max_attributions) {
      pieces.attributions_left_out += change.rows.size();
      continue;
    }
    std::vector<std::string> keys;
    for (const ComparedRow* row : change.rows) keys.push_back(row->key);
    pieces.attributions.push_back(attribution_markdown(keys, *change.rows.front()->attribution));
  }
  return pieces;
}

std::vector<std::string> problem_pieces(const Comparison& comparison) {
  std::vector<std::string> pieces;
  for (const std::string& problem : comparison.problems) {
    pieces.push_back("\n" + literal(shorten_end(printable(problem), kReasonWidth)) + "\n");
  }
  return pieces;
}

std::string note(const std::vector<std::string>& left_out, std::size_t max_bytes) {
  if (left_out.empty()) return "";
  return fmt::format(
      "\nLeft out, to stay within {} characters: {}. The results files are complete.\n",
      format_count(static_cast<double>(max_bytes)), fmt::join(left_out, ", "));
}

}  // namespace

std::string compare_markdown(const Comparison& comparison, const CompareMarkdownOptions& options) {
  std::size_t max = std::max(options.max_bytes, kMinBytes);
  Pieces pieces = collect_pieces(comparison, options);
  Budget budget(max - kReserve);
  budget.add(fmt::format("**instr_bench: {}**\n\n{}\n", verdict_line(comparison),
                         comparison_summary_line(comparison.summary)));
  std::vector<std::string> left_out;
  auto add = [&](const std::string& head, const std::vector<std::string>& all, const char* tail,
                 std::size_t space, const char* what, std::size_t before = 0) {
    std::size_t count = before + budget.add_block(head, all, tail, space);
    if (count == 0) return true;
    left_out.push_back(fmt::format("{} ({})", what, format_count(static_cast<double>(count))));
    return false;
  };
  add("", problem_pieces(comparison), "", budget.left() / 4, "problems");
  // Failures come first and may take all the space; each later part leaves some for the next.
  std::string table_head = std::string("\n") + kTableHead;
  if (!pieces.failures.empty()) {
    bool has_all = add(table_head, pieces.failures, "", budget.left(), "rows that fail");
    if (!has_all) budget.close();
    table_head.clear();
  }
  add(table_head, pieces.attention, "", budget.left() / 2, "rows that warn or gained");
  add(folded("Where the counts changed"), pieces.attributions, kFoldEnd, budget.left() / 2,
      "breakdowns by function", pieces.attributions_left_out);
  add(folded("Not compared, new, or with a remark", pieces.reasons), pieces.reasons, kFoldEnd,
      budget.left() / 2, "remarks");
  add(folded("Changes within the limits", pieces.changes) + kTableHead, pieces.changes, kFoldEnd,
      budget.left(), "changes within the limits");
  std::string out = std::move(budget).text();
  return out + note(left_out, max);
}

}  // namespace instr
