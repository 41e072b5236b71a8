#include "core/measure/failure_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <vector>

#include "core/compile/python/generate_python.h"
#include "core/compile/source_writer.h"

namespace instr {

namespace {

constexpr std::string_view kFrame = "File \"<string>\", line ";
constexpr std::string_view kHere = "<--- HERE";

// LibTorch's report of a line of the function that is generated from a TorchScript text.
struct Frame {
  std::size_t begin = 0;  // the offset of "File ..." in the message
  std::size_t end = 0;
  int line = 0;    // 1: the signature
  int column = 0;  // the caret's column; 0: no caret
};

int number_at(std::string_view text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// Returns the column of the caret under the code in `text`.
int caret_column(std::string_view text) {
  const std::size_t here = text.find(kHere);
  if (here == std::string_view::npos) return 0;
  const std::size_t begin = text.rfind('\n', here) + 1;
  return static_cast<int>(text.find_first_not_of(' ', begin) - begin) + 1;
}

std::vector<Frame> frames_in(std::string_view message) {
  std::vector<Frame> frames;
  for (std::size_t at = message.find(kFrame); at != std::string_view::npos;) {
    const std::size_t digits = at + kFrame.size();
    const std::size_t next = message.find(kFrame, digits);
    const std::size_t end =
        std::min(message.find_first_not_of("0123456789", digits), message.size());
    frames.push_back({at, end, number_at(message.substr(digits)),
                      caret_column(message.substr(end, next - end))});
    at = next;
  }
  return frames;
}

// The generated line after the text's last one returns the output, which the signature names. The
// parser reports an unclosed bracket of the text there.
std::optional<SourceLocation> find_place(const Frame& frame, std::string_view message,
                                         const Variant& variant) {
  if (!variant.torchscript || !variant.signature || frame.line < 1) return std::nullopt;
  if (frame.line == 1) return variant.signature->where;
  const int line = frame.line - 1;
  if (auto place = find_place_in_script(*variant.torchscript, line, frame.column)) return place;
  const bool is_open = message.find("found 'return' here") != std::string_view::npos;
  return is_open ? find_script_end(*variant.torchscript) : variant.signature->where;
}

// Removes LibTorch's second report of an error, in the code that it generated from the text.
std::string without_serialized_code(std::string message) {
  const std::size_t made = message.find("Traceback of TorchScript, serialized code");
  const std::size_t written = message.find("Traceback of TorchScript, original code");
  if (made < written && written != std::string::npos) message.erase(made, written - made);
  return message;
}

std::string with_toml_lines(std::string message, const Variant& variant) {
  std::vector<Frame> frames = frames_in(message);
  std::reverse(frames.begin(), frames.end());
  for (const Frame& frame : frames) {
    const auto place = find_place(frame, message, variant);
    if (!place || place->file.empty()) continue;
    message.replace(frame.begin, frame.end - frame.begin,
                    fmt::format("File \"{}\", line {}", place->file, place->line));
  }
  return message;
}

struct Suspect {
  const char* what;
  SourceLocation where;
};

// Lists the parts that may have failed, the likeliest first.
std::vector<Suspect> list_suspects(const std::string& part, const Variant& variant) {
  std::vector<Suspect> suspects;
  const auto add = [&suspects](const char* what, const auto& text) {
    if (text) suspects.push_back({what, find_first_place(*text)});
  };
  if (is_script(variant.backend) && part == "statement") {
    if (variant.backend == Backend::kAoti) add("the package", variant.package);
    if (variant.exported) {
      add("the exported statement", variant.exported->stmt);
      add("the exported module", variant.exported->module);
    }
    if (suspects.empty()) add("the TorchScript text", variant.torchscript);
    return suspects;
  }
  // With backward, the statement has been tried before it is measured.
  const bool had_trial = is_differentiated(variant) && !is_script(variant.backend);
  if (part == "statement" || had_trial) add("the statement", variant.stmt);
  if (part == "statement" && !suspects.empty()) return suspects;
  add("the module", variant.module);
  if (part == "statement") return suspects;
  for (auto setup = variant.setups.rbegin(); setup != variant.setups.rend(); ++setup) {
    suspects.push_back({"the setup", find_first_place(*setup)});
  }
  return suspects;
}

// Returns "bench.toml:9:8: in the statement or the setup (or at bench.toml:4:7): ".
std::string format_suspects(const std::vector<Suspect>& suspects) {
  if (suspects.empty() || suspects.front().where.file.empty()) return "";
  std::string words;
  std::string others;
  std::string_view last;
  for (const Suspect& suspect : suspects) {
    if (suspect.what != last) words += (words.empty() ? "in " : " or ") + std::string(suspect.what);
    last = suspect.what;
    if (&suspect == &suspects.front()) continue;
    others += (others.empty() ? " (or at " : ", ") + to_string(suspect.where);
  }
  if (!others.empty()) others += ")";
  return to_string(suspects.front().where) + ": " + words + others + ": ";
}

// Returns "bench.toml:9:8: while inductor compiled or first ran the statement: ".
std::string format_preparation(const Variant& variant) {
  const Text* code = variant.torchscript ? &*variant.torchscript
                     : variant.module    ? &*variant.module
                     : variant.stmt      ? &*variant.stmt
                                         : nullptr;
  const SourceLocation where = code == nullptr ? variant.where : find_first_place(*code);
  const char* what = variant.torchscript ? "the TorchScript text"
                     : variant.module    ? "the module"
                                         : "the statement";
  return (where.file.empty() ? "" : to_string(where) + ": ") +
         fmt::format("while {} compiled or first ran {}: ", to_string(variant.backend), what);
}

}  // namespace

std::optional<SourceLocation> script_place(const std::string& message, const Variant& variant) {
  const std::vector<Frame> frames = frames_in(message);
  if (frames.empty()) return std::nullopt;
  auto place = find_place(frames.back(), message, variant);
  if (place && place->file.empty()) return std::nullopt;
  return place;
}

std::optional<SourceLocation> python_place(int line, const Variant& variant) {
  if (line == 0 || variant.language != Language::kPython) return std::nullopt;
  auto place = find_place_in_python(make_python_snippet(variant), line);
  return place && !place->file.empty() ? place : std::nullopt;
}

std::string in_terms_of_toml(std::string text, const Variant& variant) {
  const std::pair<const char*, const char*> names[] = {{"in instr_function_", "in the statement"},
                                                       {"instr_function_", "the statement"},
                                                       {"instr_module_", "the module"},
                                                       {"in instr_snippet_", "in the snippet"},
                                                       {"instr_timed_snippet_", "the snippet"},
                                                       {"instr_snippet_", "the snippet"}};
  for (const auto& [generated, meant] : names) {
    for (std::size_t at = 0; (at = text.find(generated, at)) != std::string::npos;) {
      text.replace(at, std::string_view(generated).size(), meant);
    }
  }
  // Python names a line in a traceback, or by a short form.
  const std::pair<const char*, const char*> lines[] = {{"File \"<snippet>\", line ", "File "},
                                                       {"<snippet>:", ""}};
  for (const auto& [before, after] : lines) {
    const std::size_t size = std::string_view(before).size();
    for (std::size_t at = 0; (at = text.find(before, at)) != std::string::npos; ++at) {
      const std::size_t end =
          std::min(text.find_first_not_of("0123456789", at + size), text.size());
      const auto place = python_place(number_at(std::string_view(text).substr(at + size)), variant);
      const std::string where =
          place ? fmt::format("{}:{}", place->file, place->line) : "the snippet";
      text.replace(at, end - at, after + where);
    }
  }
  return text;
}

std::string failure_text(const std::string& message, const std::string& part,
                         const Variant& variant, int line) {
  if (auto place = python_place(line, variant)) {
    return to_string(*place) + ": " + in_terms_of_toml(message, variant);
  }
  if (auto place = script_place(message, variant)) {
    return to_string(*place) + ": " + with_toml_lines(without_serialized_code(message), variant);
  }
  if (part == "preparing") return format_preparation(variant) + message;
  if (!part.empty()) return format_suspects(list_suspects(part, variant)) + message;
  return message;
}

std::string timeout_advice(const Variant& variant) {
  if (!variant.timeout) return ": raise --timeout=SECONDS";
  const std::string where = to_string(variant.where);
  return ": raise the benchmark's own `timeout`" + (where.empty() ? "" : " (" + where + ")");
}

Outcome with_timeout_advice(Outcome outcome, const Variant& variant) {
  auto* failure = std::get_if<Failure>(&outcome);
  if (failure != nullptr && failure->kind == FailureKind::kTimedOut) {
    failure->message += timeout_advice(variant);
  }
  return outcome;
}

Outcome with_timeout_advice_for_count(Outcome outcome, const Variant& variant) {
  outcome = with_timeout_advice(std::move(outcome), variant);
  auto* failure = std::get_if<Failure>(&outcome);
  if (failure != nullptr && failure->kind == FailureKind::kTimedOut && is_on_cuda(variant)) {
    failure->message += "; a loop that waits for a value never ends: data on the device are zeros";
  }
  return outcome;
}

}  // namespace instr
