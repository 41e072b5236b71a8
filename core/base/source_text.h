// The text of a file that people write (definitions, limits, expected counts), and places in it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"

namespace instr {

class SourceText {
 public:
  // Reads a regular file of valid UTF-8 text, or standard input as "-". Errors: cannot be read, too
  // large, binary (at the first byte that is not text). A byte order mark is dropped.
  static Expected<SourceText> read(const fs::path& path);

  // Reads a file that may be missing: then the text is empty.
  static Expected<SourceText> read_if_exists(const fs::path& path);

  // For text that does not come from a file.
  SourceText(std::string path, std::string text);
  // Checks such a text as read() does: valid UTF-8 without a zero byte.
  static Expected<SourceText> checked(std::string path, std::string text);

  const std::string& path() const { return path_; }  // the path that the caller gave
  std::string_view text() const { return text_; }

  // Returns a new text of the file, with lines that end as those of text(): by "\r\n" or by "\n".
  std::string with_line_ends(const std::string& text) const;

  // The absolute path of a file that the text names relative to its own folder.
  fs::path beside(const std::string& path) const;

  SourceLocation at(int line, int column) const { return {path_, line, column}; }

  // The place of this byte of text(); columns are characters.
  SourceLocation place(std::size_t offset) const;

  // The place of the first character of a TOML string's content, given that of its opening quote
  // (columns are characters).
  SourceLocation content_of_string(int line, int column) const;

  // The number of bytes of text() before a place.
  std::size_t offset(int line, int column) const;

 private:
  Expected<void> check_text() const;

  std::string path_;
  std::string text_;
  std::vector<std::size_t> line_starts_;
};

}  // namespace instr
