#include "core/compile/cpp/diagnostics.h"

#include <fmt/core.h>
#include <re2/re2.h>

#include <algorithm>
#include <set>

#include "core/compile/cpp/generate_cpp.h"
#include "core/compile/cpp/missing_symbol.h"
#include "core/compile/cpp/self_contained.h"

namespace instr {

namespace {

constexpr std::size_t kErrorsShown = 3;
constexpr std::size_t kNotesShown = 2;          // of the first error alone
constexpr std::size_t kMaxMessageLength = 400;  // characters; template errors have no end

struct DiagnosticPatterns {
  RE2 diagnostic{R"((.*?):(\d+):(\d+): (fatal error|error|warning|note): (.*))"};
  RE2 linker{R"((?:.*: )?(undefined reference to .*|multiple definition of .*|cannot find -l.*))"};
  RE2 marker{R"(@(instr_snippet_[0-9a-f]{32}|shared|empty):)"};
  RE2 symbol{R"((instr_snippet_[0-9a-f]{32}))"};
  RE2 place{R"(@(?:instr_snippet_[0-9a-f]{32}|shared):(.*?):(\d+):(\d+))"};
};

// One error while its lines are collected.
struct Group {
  Diagnostic diagnostic;
  std::vector<std::string> lines;
};

class Parser {
 public:
  std::vector<Diagnostic> parse(std::string_view output) {
    std::size_t begin = 0;
    while (begin < output.size()) {
      std::size_t end = std::min(output.find('\n', begin), output.size());
      read_line(std::string(output.substr(begin, end - begin)));
      begin = end + 1;
    }
    std::vector<Diagnostic> found;
    for (auto& group : groups_) found.push_back(finish(std::move(group)));
    return found;
  }

 private:
  void read_line(const std::string& line) {
    std::string file, severity, message;
    int number = 0, column = 0;
    if (RE2::FullMatch(line, patterns_.diagnostic, &file, &number, &column, &severity, &message)) {
      if (severity == "note") {
        add_note(line);
      } else if (severity == "warning") {
        pending_.clear();
      } else {
        start_group(line, file, number, column, message);
      }
    } else if (RE2::FullMatch(line, patterns_.linker, &message)) {
      start_group(line, "", 0, 0, message);
      groups_.back().diagnostic.is_linker = true;
    } else {
      pending_.push_back(line);  // "In file included from", "In function", "required from here"
    }
  }

  void start_group(const std::string& line, const std::string& file, int number, int column,
                   const std::string& message) {
    Group group;
    group.diagnostic.file = file;
    group.diagnostic.line = number;
    group.diagnostic.column = column;
    group.diagnostic.message = message;
    group.lines.push_back(line);
    // Before the error: how the compiler got there. The linker names a function once for several
    // references, so its lines stay.
    group.lines.insert(group.lines.end(), pending_.begin(), pending_.end());
    if (!file.empty()) pending_.clear();
    groups_.push_back(std::move(group));
  }

  void add_note(const std::string& line) {
    if (!groups_.empty()) {
      auto& lines = groups_.back().lines;
      lines.insert(lines.end(), pending_.begin(), pending_.end());
      lines.push_back(line);
      groups_.back().diagnostic.notes.push_back(line);
    }
    pending_.clear();
  }

  Diagnostic finish(Group group) {
    Diagnostic& diagnostic = group.diagnostic;
    std::string symbol;
    for (const auto& line : group.lines) {
      bool is_linker = diagnostic.file.empty();
      if (RE2::PartialMatch(line, is_linker ? patterns_.symbol : patterns_.marker, &symbol)) {
        diagnostic.symbol = symbol;
        if (is_linker) continue;  // the last function named is the nearest
        break;
      }
    }
    diagnostic.names_another = names_another(group);
    if (RE2::PartialMatch(diagnostic.file, patterns_.marker, &symbol)) {
      diagnostic.is_in_user_text = true;
      RE2::Replace(&diagnostic.file, patterns_.marker, "");
    } else {
      move_to_user_text(group);
    }
    // Notes about the user's own text help most.
    std::stable_partition(diagnostic.notes.begin(), diagnostic.notes.end(), [&](const auto& note) {
      return RE2::PartialMatch(note, patterns_.marker);
    });
    for (auto& note : diagnostic.notes) RE2::GlobalReplace(&note, patterns_.marker, "");
    std::erase_if(diagnostic.notes, [](const auto& note) { return note.front() == ':'; });
    return std::move(diagnostic);
  }

  bool names_another(const Group& group) const {
    for (const auto& line : group.lines) {
      std::string symbol;
      if (RE2::PartialMatch(line, patterns_.marker, &symbol) && symbol.starts_with("instr_") &&
          symbol != group.diagnostic.symbol) {
        return true;
      }
    }
    return false;
  }

  // An error in a header is shown where the definition led to it, the header's place as a note.
  void move_to_user_text(Group& group) {
    Diagnostic& diagnostic = group.diagnostic;
    if (diagnostic.file.empty()) return;
    for (const auto& line : group.lines) {
      std::string file;
      int number = 0, column = 0;
      if (!RE2::PartialMatch(line, patterns_.place, &file, &number, &column) || file.empty())
        continue;
      diagnostic.notes.insert(diagnostic.notes.begin(),
                              fmt::format("{}:{}:{}: note: the error is here", diagnostic.file,
                                          diagnostic.line, diagnostic.column));
      diagnostic.file = file;
      diagnostic.line = number;
      diagnostic.column = column;
      diagnostic.is_in_user_text = true;
      return;
    }
  }

  DiagnosticPatterns patterns_;
  std::vector<Group> groups_;
  std::vector<std::string> pending_;
};

std::string shortened(std::string text) {
  // The user's own types have names with the namespaces that we put them in.
  static const RE2 kOurScopes(
      R"(instr_unit_[0-9a-f]{32}::|instr_snippet_[0-9a-f]{32}\((struct )?(instr_unit_[0-9a-f]{32}::)?instr_context ?\*\)::)");
  RE2::GlobalReplace(&text, kOurScopes, "");
  if (text.size() <= kMaxMessageLength) return text;
  return text.substr(0, kMaxMessageLength) + "...";
}

std::vector<const Text*> all_texts_of(const Variant& variant) {
  std::vector<const Text*> texts;
  for (const Text& global : variant.global_setups) texts.push_back(&global);
  for (const Text* own : list_texts(variant)) texts.push_back(own);
  return texts;
}

// The line of the text that lies at a line of its file, as long as it is in the text.
std::string line_at(const Text& text, int line) {
  int at = text.where.line;
  std::size_t begin = 0;
  while (at < line && begin != std::string::npos) {
    std::size_t end = text.code.find('\n', begin);
    begin = end == std::string::npos ? end : end + 1;
    ++at;
  }
  if (at != line || begin == std::string::npos) return "";
  std::string found = text.code.substr(begin, text.code.find('\n', begin) - begin);
  if (line == text.where.line && text.where.column > 1) {
    found.insert(0, static_cast<std::size_t>(text.where.column - 1), ' ');
  }
  return found;
}

// The line of the user's code that an error is about; empty if it is about code that we made.
std::string code_at(const Variant& variant, const Diagnostic& diagnostic) {
  auto column = static_cast<std::size_t>(std::max(diagnostic.column, 1));
  for (const Text* text : all_texts_of(variant)) {
    if (text->where.file != diagnostic.file) continue;
    std::string line = line_at(*text, diagnostic.line);
    std::size_t indent = line.find_first_not_of(" \t");
    if (indent != std::string::npos && column > indent && column <= line.size() + 1) return line;
  }
  return "";
}

// The code with a caret under the column: two lines, or none.
std::string excerpt(const Variant& variant, const Diagnostic& diagnostic) {
  std::string line = code_at(variant, diagnostic);
  if (line.empty()) return "";
  std::size_t indent = line.find_first_not_of(" \t");
  auto column = static_cast<std::size_t>(std::max(diagnostic.column, 1)) - 1;
  return "\n    " + line.substr(indent) + "\n    " + std::string(column - indent, ' ') + "^";
}

std::string place_of(const Variant& variant, const Diagnostic& diagnostic) {
  SourceLocation where = variant.where;
  if (diagnostic.is_in_user_text && !diagnostic.file.empty()) {
    where = {diagnostic.file, diagnostic.line, diagnostic.column};
    // Code generated from a signature has columns that the signature does not have.
    const auto& signature = variant.signature;
    if (signature && where.file == signature->where.file && where.line == signature->where.line &&
        code_at(variant, diagnostic).empty()) {
      where = signature->where;
    }
  }
  return where.file + ":" + std::to_string(where.line) + ":" + std::to_string(where.column);
}

// Our own static_assert messages say more than the compiler's other errors.
bool is_assertion(const Diagnostic& diagnostic) {
  return RE2::PartialMatch(diagnostic.message, "^static.assert(ion)? failed.*instr_bench: ");
}

// The statement is also compiled without the loop around it, for this.
std::string in_own_words(std::string message) {
  static const RE2 kLeaves(R"('?(break|continue)'? statement not (?:in|within) .*)");
  std::string word;
  if (!RE2::FullMatch(message, kLeaves, &word)) return message;
  return word + " outside a loop of the statement's own: it would skip the code that is measured";
}

// "undefined reference to `f(int)'", with the reason if it is known.
std::string linker_message(const std::string& message, const BuildOptions* build) {
  std::string text = "does not link: " + shortened(message);
  std::string function;
  static const RE2 kUndefined("undefined reference to `(.*)'");
  if (build == nullptr || !RE2::FullMatch(message, kUndefined, &function)) return text;
  const std::string reason = find_string_layout_reason(function, *build);
  return reason.empty() ? text : text + ": " + reason;
}

std::string message_of(const Diagnostic& diagnostic) {
  std::size_t own = is_assertion(diagnostic) ? diagnostic.message.find("instr_bench: ") : 0;
  std::string message = diagnostic.message.substr(own == 0 ? 0 : own + 13);
  if (own != 0 && !message.empty() && message.back() == '"') message.pop_back();
  return shortened(in_own_words(std::move(message)));
}

// A text with unbalanced brackets makes the compiler report errors elsewhere.
std::string incomplete_text(const Variant& variant) {
  for (const Text* text : all_texts_of(variant)) {
    if (text->code.find('#') != std::string::npos || is_complete(text->code)) continue;
    return to_string(Error{text->where,
                           "error: a bracket, string or comment is not closed, or closed twice, in "
                           "this text",
                           ""}) +
           " [in " + variant.key + "]";
  }
  return "";
}

}  // namespace

std::vector<Diagnostic> parse_diagnostics(std::string_view output) {
  return Parser().parse(output);
}

std::string describe(const Variant& variant, const std::vector<Diagnostic>& diagnostics) {
  std::vector<Diagnostic> sorted = diagnostics;
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return is_assertion(a) && !is_assertion(b);
  });
  std::string text = incomplete_text(variant);
  std::set<std::string> seen;
  std::size_t left_out = 0;
  for (const auto& diagnostic : sorted) {
    std::string head = place_of(variant, diagnostic) + ": ";
    head += diagnostic.is_linker ? linker_message(diagnostic.message, variant.build.get())
                                 : "error: " + message_of(diagnostic);
    // Some code is in a unit twice: in the trial run and in the loop.
    if (!seen.insert(head).second) continue;
    if (seen.size() > kErrorsShown) {
      ++left_out;
      continue;
    }
    bool is_first = text.empty();
    text += is_first ? head + " [in " + variant.key + "]" : "\n" + head;
    text += excerpt(variant, diagnostic);
    std::size_t notes = is_first && !is_assertion(diagnostic) ? kNotesShown : 0;
    for (std::size_t i = 0; i < std::min(diagnostic.notes.size(), notes); ++i) {
      text += "\n  " + shortened(diagnostic.notes[i]);
    }
  }
  if (left_out > 0) text += fmt::format("\nand {} more", left_out);
  return text;
}

std::optional<std::string> describe_linker_errors(std::string_view output,
                                                  const BuildOptions* build) {
  std::set<std::string> seen;
  std::string text;
  for (const Diagnostic& one : parse_diagnostics(output)) {
    if (!one.is_linker) return std::nullopt;
    if (seen.size() == kErrorsShown || !seen.insert(one.message).second) continue;
    text += (text.empty() ? "" : "\n") + linker_message(one.message, build);
  }
  return text.empty() ? std::nullopt : std::optional(text);
}

}  // namespace instr
