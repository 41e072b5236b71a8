#include "core/compile/cpp/diagnostics.h"

#include <fmt/core.h>
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <set>

#include "core/compile/cpp/generate_cpp.h"
#include "core/compile/cpp/self_contained.h"
#include "core/compile/elf.h"
#include "core/compile/source_writer.h"
#include "core/profile/function_names.h"

namespace instr {

namespace {

// Returns the _GLIBCXX_USE_CXX11_ABI that a function was compiled with; -1 if it takes no
// std::string.
int find_string_layout(std::string_view function) {
  for (const char* mark : {"std::__cxx11::basic_string<", "[abi:cxx11]"}) {
    if (function.find(mark) != std::string_view::npos) return 1;
  }
  const bool is_old = function.find("std::string") != std::string_view::npos ||
                      function.find("std::basic_string<char") != std::string_view::npos;
  return is_old ? 0 : -1;
}

// "my::size(int)" -> "N2my4sizeE", the start of the mangled name for all parameters. Empty for
// templates and operators.
std::string mangle_name(std::string_view function) {
  const std::string_view name = function.substr(0, function.find('('));
  if (name.find_first_of("<> ~") != std::string_view::npos) return "";
  std::string parts;
  std::size_t count = 0;
  for (std::size_t at = 0; at <= name.size(); ++count) {
    const std::size_t end = std::min(name.find("::", at), name.size());
    parts += fmt::format("{}{}", end - at, name.substr(at, end - at));
    at = end + 2;
  }
  return count > 1 ? "N" + parts + "E" : parts;
}

bool is_of_libtorch(std::string_view function) {
  return function.starts_with("c10::") || function.starts_with("at::") ||
         function.starts_with("torch::");
}

}  // namespace

int read_string_layout(const LibTorch& libtorch) {
  for (const std::string& define : libtorch.defines) {
    if (define == "_GLIBCXX_USE_CXX11_ABI=0") return 0;
    if (define == "_GLIBCXX_USE_CXX11_ABI=1") return 1;
  }
  return -1;
}

std::string find_string_layout_reason(const std::string& function, const LinkedCode& code) {
  constexpr const char* kOther =
      "remove the flag, the entry of `defines` or the #define that sets it";
  const int wanted = find_string_layout(function);
  const std::string name = mangle_name(function);
  if (wanted < 0) return "";
  if (is_of_libtorch(function) && code.libtorch_layout == 1 - wanted) {
    return fmt::format(
        "this code is compiled with _GLIBCXX_USE_CXX11_ABI={}, but LibTorch with {}: {}", wanted,
        1 - wanted, kOther);
  }
  if (name.empty() || code.build == nullptr) return "";
  if (code.sources && file_contains(*code.sources, "_Z" + name)) {
    return fmt::format(
        "the `sources` of [build] are compiled with _GLIBCXX_USE_CXX11_ABI={}, but LibTorch and so "
        "the snippets with {}: {}",
        1 - wanted, wanted, kOther);
  }
  for (const auto& folder : code.build->library_dirs) {
    for (const std::string& library : code.build->libraries) {
      const std::string file = "lib" + library + ".so";
      if (!file_contains(folder / file, "_Z" + name)) continue;
      return fmt::format(
          "{} was built with _GLIBCXX_USE_CXX11_ABI={}, but LibTorch and so the snippets with {}: "
          "build it with -D_GLIBCXX_USE_CXX11_ABI={}",
          file, 1 - wanted, wanted, wanted);
    }
  }
  return "";
}

std::string explain_loader_message(std::string_view message) {
  constexpr std::string_view kMark = "undefined symbol: ";
  const std::size_t mark = message.find(kMark);
  if (mark == std::string_view::npos) return std::string(message);
  const std::size_t begin = mark + kMark.size();
  const std::size_t end = std::min(message.find_first_of(" \n(", begin), message.size());
  const std::string function = demangle(std::string(message.substr(begin, end - begin)));
  std::string text = fmt::format("{}{}{}", message.substr(0, begin), function, message.substr(end));
  const int layout = find_string_layout(function);
  if (!is_of_libtorch(function) || layout < 0) return text;
  return text + fmt::format(
                    ": that library was built with _GLIBCXX_USE_CXX11_ABI={}; if this "
                    "LibTorch was built with {}, build it so, too",
                    layout, 1 - layout);
}

namespace {

constexpr std::size_t kMaxErrorsShown = 3;
constexpr std::size_t kMaxNotesShown = 2;       // notes of the first error; others show none
constexpr std::size_t kMaxMessageLength = 400;  // characters, as template errors can be huge

struct DiagnosticPatterns {
  RE2 diagnostic{R"((.*?):(\d+):(\d+): (fatal error|error|warning|note): (.*))"};
  RE2 linker{R"((?:.*: )?(undefined reference to .*|multiple definition of .*|cannot find -l.*))"};
  RE2 marker{R"(@(instr_snippet_[0-9a-f]{32}|shared|empty):)"};
  RE2 symbol{R"((instr_snippet_[0-9a-f]{32}))"};
  RE2 place{R"(@(?:instr_snippet_[0-9a-f]{32}|shared):(.*?):(\d+):(\d+))"};
};

// An error while its lines are collected.
struct Group {
  Diagnostic diagnostic;
  std::vector<std::string> lines;
};

class Parser {
 public:
  std::vector<Diagnostic> parse(std::string_view output) {
    for (const std::string& line : to_lines(output)) read_line(line);
    std::vector<Diagnostic> diagnostics;
    for (auto& group : groups_) diagnostics.push_back(finish(std::move(group)));
    return diagnostics;
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
    Diagnostic diagnostic;
    diagnostic.file = file;
    diagnostic.line = number;
    diagnostic.column = column;
    diagnostic.message = message;
    auto& lines = groups_.emplace_back(Group{std::move(diagnostic), {line}}).lines;
    // Lines before the error tell how the compiler got there. The linker names a function once for
    // several references, so its lines stay.
    lines.insert(lines.end(), pending_.begin(), pending_.end());
    if (!file.empty()) pending_.clear();
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

  // Shows an error in a header where the definition led to it, with the header's place as a note.
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

std::string shorten(std::string text) {
  // Names of the user's own types contain the generated namespaces.
  static const RE2 kOurScopes(
      R"(instr_unit_[0-9a-f]{32}::|instr_snippet_[0-9a-f]{32}\((struct )?(instr_unit_[0-9a-f]{32}::)?instr_context ?\*\)::)");
  RE2::GlobalReplace(&text, kOurScopes, "");
  if (text.size() <= kMaxMessageLength) return text;
  return text.substr(0, kMaxMessageLength) + "...";
}

std::vector<const Text*> list_all_texts(const Variant& variant) {
  std::vector<const Text*> texts;
  for (const Text& global : variant.global_setups) texts.push_back(&global);
  for (const Text* own : list_texts(variant)) texts.push_back(own);
  return texts;
}

// Returns the text's part in a line of its file, at its column; empty if it has none.
std::string find_line(const Text& text, int line) {
  const auto lines = to_lines(text.code);
  const int number = line - text.where.line;
  if (number < 0 || number >= std::ssize(lines)) return "";
  const bool is_indented = number == 0 && text.where.column > 1;
  return std::string(is_indented ? static_cast<std::size_t>(text.where.column - 1) : 0, ' ') +
         lines[static_cast<std::size_t>(number)];
}

// Returns the line of the user's code that an error is about; empty for an error in generated code.
std::string find_code(const Variant& variant, const Diagnostic& diagnostic) {
  auto column = static_cast<std::size_t>(std::max(diagnostic.column, 1));
  for (const Text* text : list_all_texts(variant)) {
    if (text->where.file != diagnostic.file) continue;
    std::string line = find_line(*text, diagnostic.line);
    std::size_t indent = line.find_first_not_of(" \t");
    if (indent != std::string::npos && column > indent && column <= line.size() + 1) return line;
  }
  return "";
}

// Formats the code with a caret under the column: two lines, or none.
std::string format_excerpt(const Variant& variant, const Diagnostic& diagnostic) {
  std::string line = find_code(variant, diagnostic);
  if (line.empty()) return "";
  std::size_t indent = line.find_first_not_of(" \t");
  auto column = static_cast<std::size_t>(std::max(diagnostic.column, 1)) - 1;
  return "\n    " + line.substr(indent) + "\n    " + std::string(column - indent, ' ') + "^";
}

std::string format_place(const Variant& variant, const Diagnostic& diagnostic) {
  SourceLocation where = variant.where;
  if (diagnostic.is_in_user_text && !diagnostic.file.empty()) {
    where = {diagnostic.file, diagnostic.line, diagnostic.column};
    // Code generated from a signature may be longer than the signature.
    const auto& signature = variant.signature;
    if (signature && where.file == signature->where.file && where.line == signature->where.line &&
        find_code(variant, diagnostic).empty()) {
      where = signature->where;
    }
  }
  return fmt::format("{}:{}:{}", where.file, where.line, where.column);
}

// Our static_assert messages are more helpful than the compiler's other errors.
bool is_assertion(const Diagnostic& diagnostic) {
  return RE2::PartialMatch(diagnostic.message, "^static.assert(ion)? failed.*instr_bench: ");
}

// Rewords the error about a break or continue that would leave the measured loop. The statement is
// also compiled without the loop around it to get this error.
std::string reword(std::string message) {
  static const RE2 kLeaves(R"('?(break|continue)'? statement not (?:in|within) .*)");
  std::string word;
  if (!RE2::FullMatch(message, kLeaves, &word)) return message;
  return word + " outside a loop of the statement's own: it would skip the code that is measured";
}

// The texts of a definition are in a namespace.
constexpr const char* kDeclaredInside =
    "a declaration in a definition is of a name in its own namespace: #include a header with the "
    "declaration in `global_setup` or, of a function or variable of C, declare it extern \"C\" "
    "there";

// "undefined reference to `f(int)'", with the reason if it is known.
std::string format_linker_message(const std::string& message, const LinkedCode& linked) {
  std::string text = "does not link: " + shorten(message);
  std::string function;
  static const RE2 kUndefined("undefined reference to `(.*)'");
  static const RE2 kOwnScope("instr_unit_[0-9a-f]{32}::[^(]*(\\(.*)?");
  if (!RE2::FullMatch(message, kUndefined, &function)) return text;
  if (RE2::FullMatch(function, kOwnScope)) return text + ": " + kDeclaredInside;
  const std::string reason = find_string_layout_reason(function, linked);
  return reason.empty() ? text : text + ": " + reason;
}

std::string format_message(const Diagnostic& diagnostic) {
  std::size_t own = is_assertion(diagnostic) ? diagnostic.message.find("instr_bench: ") : 0;
  std::string message = diagnostic.message.substr(own == 0 ? 0 : own + 13);
  if (own != 0 && !message.empty() && message.back() == '"') message.pop_back();
  return shorten(reword(std::move(message)));
}

// Reports a text with unbalanced brackets, for which the compiler reports errors elsewhere.
std::string report_incomplete_text(const Variant& variant) {
  for (const Text* text : list_all_texts(variant)) {
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

std::string describe(const Variant& variant, const std::vector<Diagnostic>& diagnostics,
                     const LinkedCode& linked) {
  std::vector<Diagnostic> sorted = diagnostics;
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return is_assertion(a) && !is_assertion(b);
  });
  std::string text = report_incomplete_text(variant);
  std::set<std::string> seen;
  std::size_t left_out = 0;
  for (const auto& diagnostic : sorted) {
    std::string head = format_place(variant, diagnostic) + ": ";
    head += diagnostic.is_linker ? format_linker_message(diagnostic.message, linked)
                                 : "error: " + format_message(diagnostic);
    // Some code is in a unit twice: in the trial run and in the loop.
    if (!seen.insert(head).second) continue;
    if (seen.size() > kMaxErrorsShown) {
      ++left_out;
      continue;
    }
    bool is_first = text.empty();
    text += is_first ? head + " [in " + variant.key + "]" : "\n" + head;
    text += format_excerpt(variant, diagnostic);
    std::size_t notes = is_first && !is_assertion(diagnostic) ? kMaxNotesShown : 0;
    for (std::size_t i = 0; i < std::min(diagnostic.notes.size(), notes); ++i) {
      text += "\n  " + shorten(diagnostic.notes[i]);
    }
  }
  if (left_out > 0) text += fmt::format("\nand {} more", left_out);
  return text;
}

std::optional<std::string> describe_linker_errors(std::string_view output,
                                                  const LinkedCode& linked) {
  std::set<std::string> seen;
  std::string text;
  for (const Diagnostic& error : parse_diagnostics(output)) {
    if (!error.is_linker) return std::nullopt;
    if (seen.size() == kMaxErrorsShown || !seen.insert(error.message).second) continue;
    text += (text.empty() ? "" : "\n") + format_linker_message(error.message, linked);
  }
  return text.empty() ? std::nullopt : std::optional(text);
}

}  // namespace instr
