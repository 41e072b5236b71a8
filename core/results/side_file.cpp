#include "core/results/side_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/format.h"
#include "core/base/json_line.h"
#include "core/base/read_file.h"
#include "core/results/end_line.h"
#include "core/results/results.h"

namespace instr {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kNamesStart = "{\"first\":";
constexpr std::string_view kKeyStart = "{\"key\":\"";
constexpr std::string_view kEndStart = "{\"end\":";

std::string quoted(const std::string& text) { return to_line(Json(text)); }

std::string schema_word(const SideKind& kind) { return std::string(kind.word) + "_schema"; }

// Null if it cannot be read.
Json parsed(std::string_view text) { return parse_json(text).value_or(Json()); }

// The text of the JSON string that begins after the quote at the start of `text`; nothing if it
// does not end.
std::optional<std::string> string_at_start(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      Json value = parsed("\"" + std::string(text.substr(0, at + 1)));
      if (value.is_string()) return value.get<std::string>();
      break;
    }
  }
  return std::nullopt;
}

}  // namespace

fs::path side_path(const fs::path& file, const SideKind& kind) {
  fs::path path = file;
  path += std::string(".") + kind.word + ".jsonl.gz";
  return path;
}

std::string SideLines::start(const SideKind& kind, std::string_view header) {
  return fmt::format("{{\"{}\":{}}}\n{}\n", schema_word(kind), kind.schema, header);
}

std::size_t SideLines::number_of(const std::string& function, const std::string& object) {
  auto [entry, is_new] = numbers_.try_emplace(function + '\0' + object, numbers_.size());
  if (is_new) {
    names_ += fmt::format("{}[{},{}]", names_.empty() ? "" : ",", quoted(function), quoted(object));
  }
  return entry->second;
}

std::string SideLines::next(const std::string& key, const std::string& members) {
  const std::string names = std::exchange(names_, "");
  const std::size_t first = std::exchange(written_, numbers_.size());
  ++measurements_;
  std::string lines;
  if (!names.empty()) lines = fmt::format("{}{},\"names\":[{}]}}\n", kNamesStart, first, names);
  return lines + fmt::format("{{\"key\":{},{}}}\n", quoted(key), members);
}

std::string SideLines::end() const { return end_line(measurements_) + "\n"; }

SideFile::SideFile(const SideKind& kind, std::string bytes, std::string name,
                   const SideLimits& limits)
    : kind_(kind), packed_(std::move(bytes)), name_(std::move(name)), limits_(limits) {}

Expected<void> SideFile::index(const std::string& header, Incomplete incomplete) {
  int line = 0;
  std::size_t text = 0;
  for (std::size_t at = 0; at < packed_.size();) {
    auto member = gunzip_member(packed_, at, limits_.member);
    if (!member) return broken(line + 1, member.error().what);
    text += member->text.size();
    if (text > limits_.text) return broken(line + 1, "more text than instr_bench ever writes");
    auto taken = take_member(*member, at, header, line);
    if (!taken) return taken;
    at = member->end;
  }
  if (line < 2) return broken(line, "truncated before its first measurement");
  if (is_complete_ || incomplete == Incomplete::kAllowed) return {};
  return broken(line, fmt::format("these {} are truncated", kind_.things));
}

Expected<std::optional<SideLine>> SideFile::of(const std::string& key) {
  auto found = places_.find(key);
  if (found == places_.end()) return std::nullopt;
  const Place& place = found->second;
  if (!unpacked_ || unpacked_at_ != place.member) {
    auto member = gunzip_member(packed_, place.member, limits_.member);
    if (!member) return broken(place.line, member.error().what);
    unpacked_ = std::move(member->text);
    unpacked_at_ = place.member;
  }
  Json json = parsed(std::string_view(*unpacked_).substr(place.begin, place.size));
  if (!json.is_object()) return unreadable(place.line);
  return SideLine{std::move(json), place.line};
}

std::optional<SideName> SideFile::name_of(std::uint64_t number) const {
  if (number >= names_.size()) return std::nullopt;
  return names_[number];
}

tl::unexpected<Error> SideFile::broken(int line, std::string what, std::string advice) const {
  if (advice.empty()) {
    advice = fmt::format("measure again, or remove the file to go without {}", kind_.things);
  }
  return tl::unexpected(Error{{name_, line, 0}, std::move(what), std::move(advice)});
}

tl::unexpected<Error> SideFile::unreadable(int line) const {
  return broken(line, fmt::format("these {} cannot be read", kind_.things));
}

Expected<void> SideFile::take_member(const GzipMember& member, std::size_t at,
                                     const std::string& header, int& line) {
  std::string_view text = member.text;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = text.find('\n', begin);
    if (end == std::string_view::npos && !member.is_whole) break;
    end = std::min(end, text.size());
    ++line;
    auto taken = take_line(text.substr(begin, end - begin), {at, begin, end - begin, line}, header);
    if (!taken) return taken;
    begin = end + 1;
  }
  return {};
}

Expected<void> SideFile::take_line(std::string_view line, const Place& place,
                                   const std::string& header) {
  if (line.size() > limits_.line) return broken(place.line, "this line is unreasonably long");
  if (place.line == 1) return check_schema(line);
  if (place.line == 2) {
    if (line == header) return {};
    return broken(2,
                  fmt::format("these {} do not belong to the results beside them", kind_.things));
  }
  if (line.empty()) return {};
  if (is_complete_) {
    return broken(place.line, fmt::format("a line after the end of the {}", kind_.things));
  }
  if (line.starts_with(kEndStart)) return take_end(parsed(line), place.line);
  if (line.starts_with(kNamesStart)) return take_names(parsed(line), place.line);
  auto key =
      line.starts_with(kKeyStart) ? string_at_start(line.substr(kKeyStart.size())) : std::nullopt;
  if (!key) {
    return broken(place.line, fmt::format("this line holds neither names nor {}", kind_.things));
  }
  if (!places_.try_emplace(*key, place).second) {
    return broken(place.line,
                  fmt::format("{} of `{}` for the second time", kind_.things, printable(*key)));
  }
  return {};
}

Expected<void> SideFile::check_schema(std::string_view line) const {
  Json json = parsed(line);
  if (!json.is_object() || !json.contains(schema_word(kind_))) {
    const bool is_older = json.is_object() && json.contains("schema");
    return broken(1, is_older
                         ? fmt::format("{} in the format of an older instr_bench", kind_.things)
                         : fmt::format("this is not a file of instr_bench with {}", kind_.things));
  }
  const Json& schema = json[schema_word(kind_)];
  if (schema == kind_.schema) return {};
  return broken(1,
                fmt::format("{} of schema {}; this instr_bench reads {}", kind_.things,
                            printable(to_line(schema)), kind_.schema),
                "use the instr_bench that wrote it, or measure again with this one");
}

Expected<void> SideFile::take_end(const Json& json, int line) {
  const auto measurements = measurements_at_end(json);
  is_complete_ = measurements == places_.size();
  if (is_complete_) return {};
  return broken(line, fmt::format("this end line does not match the {} of {} measurements",
                                  kind_.things, places_.size()));
}

Expected<void> SideFile::take_names(const Json& json, int line) {
  auto unreadable_names = [&] { return broken(line, "these names of functions cannot be read"); };
  if (!json.is_object() || !json.contains("names")) return unreadable_names();
  if (json["first"] != names_.size()) {
    return broken(line, fmt::format("names of functions are missing: these are numbered from {}, "
                                    "those before end at {}",
                                    printable(to_line(json["first"])), names_.size()));
  }
  if (names_.size() + json["names"].size() > limits_.names) {
    return broken(line, "unreasonably many names of functions");
  }
  for (const Json& name : json["names"]) {
    const bool is_name =
        name.is_array() && name.size() == 2 && name[0].is_string() && name[1].is_string();
    if (!is_name) return unreadable_names();
    names_.push_back({name[0].get<std::string>(), name[1].get<std::string>()});
  }
  return {};
}

Expected<std::shared_ptr<SideFile>> read_side_file(const fs::path& file, const SideKind& kind) {
  std::error_code error;
  // The writer also follows links.
  const fs::path real = fs::canonical(file, error);
  const fs::path path = side_path(error ? file : real, kind);
  if (!fs::exists(path, error)) return nullptr;
  return read_file(path, kMostResults).map([&](std::string&& bytes) {
    return std::make_shared<SideFile>(kind, std::move(bytes), path.string(), SideLimits{});
  });
}

}  // namespace instr
