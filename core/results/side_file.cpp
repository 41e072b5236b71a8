#include "core/results/side_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/format.h"
#include "core/base/read_file.h"
#include "core/results/json_reader.h"
#include "core/results/results_file.h"

namespace instr {

namespace {

constexpr std::string_view kNamesStart = "{\"first\":";
constexpr std::string_view kKeyStart = "{\"key\":\"";
constexpr std::string_view kEndStart = "{\"end\":";

std::string quoted(const std::string& text) { return to_line(nlohmann::ordered_json(text)); }

std::string schema_word(const SideKind& kind) { return std::string(kind.word) + "_schema"; }

// Returns the JSON string at the start of `text`, with its quotes; "" if it has no end.
std::string_view take_string(std::string_view text) {
  for (std::size_t at = 1; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      return text.substr(0, at + 1);
    }
  }
  return "";
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

std::string SideLines::next(const std::string& key, const nlohmann::ordered_json& members) {
  const std::string object = to_line(members);
  return next(key, object.substr(1, object.size() - 2));
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
    : kind_(kind),
      packed_(std::move(bytes)),
      name_(std::move(name)),
      limits_(limits),
      json_(std::make_unique<JsonReader>()) {}

SideFile::~SideFile() = default;

Expected<void> SideFile::index(const std::string& header, Incomplete incomplete,
                               const OnSideLine& on_line) {
  int line = 0;
  std::size_t text = 0;
  for (std::size_t at = 0; at < packed_.size();) {
    auto member = gunzip_member(packed_, at, limits_.member);
    if (!member) return broken(line + 1, member.error().what);
    text += member->text.size();
    if (text > limits_.text) return broken(line + 1, "more text than instr_bench ever writes");
    TRY(take_member(*member, at, header, line, on_line));
    at = member->end;
  }
  if (line < 2) return broken(line, "truncated before its first measurement");
  if (is_complete_ || incomplete == Incomplete::kAllowed) return {};
  return broken(line, fmt::format("these {} are truncated", kind_.things));
}

Expected<std::optional<SideLine>> SideFile::find(const std::string& key) {
  const auto entry = places_.find(key);
  if (entry == places_.end()) return std::nullopt;
  const Place& place = entry->second;
  if (!unpacked_ || unpacked_at_ != place.member) {
    auto member = gunzip_member(packed_, place.member, limits_.member);
    if (!member) return broken(place.line, member.error().what);
    unpacked_ = std::move(member->text);
    unpacked_at_ = place.member;
  }
  return SideLine{std::string_view(*unpacked_).substr(place.begin, place.size), place.line};
}

std::optional<SideName> SideFile::find_name(std::uint64_t number) const {
  if (number >= names_.size()) return std::nullopt;
  return names_[number];
}

tl::unexpected<Error> SideFile::broken(int line, std::string what, std::string advice) const {
  if (advice.empty()) {
    advice = fmt::format("measure again, or remove the file to go without {}", kind_.things);
  }
  return fail_at({name_, line}, std::move(what), std::move(advice));
}

tl::unexpected<Error> SideFile::unreadable(int line) const {
  return broken(line, fmt::format("these {} cannot be read", kind_.things));
}

Expected<void> SideFile::take_member(const GzipMember& member, std::size_t at,
                                     const std::string& header, int& line,
                                     const OnSideLine& on_line) {
  std::string_view text = member.text;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = text.find('\n', begin);
    if (end == std::string_view::npos && !member.is_whole) break;
    end = std::min(end, text.size());
    ++line;
    const std::size_t size = end - begin;
    TRY(take_line(text.substr(begin, size), {at, begin, size, line}, header, on_line));
    begin = end + 1;
  }
  return {};
}

Expected<void> SideFile::take_line(std::string_view line, const Place& place,
                                   const std::string& header, const OnSideLine& on_line) {
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
  if (line.starts_with(kEndStart)) return take_end(line, place.line);
  if (line.starts_with(kNamesStart)) return take_names(line, place.line);
  std::optional<std::string_view> key;
  if (line.starts_with(kKeyStart)) {
    const auto json = json_->read(take_string(line.substr(kKeyStart.size() - 1)));
    if (json) key = value_as<std::string_view>(*json);
  }
  if (!key) {
    return broken(place.line, fmt::format("this line holds neither names nor {}", kind_.things));
  }
  const auto [entry, is_new] = places_.try_emplace(std::string(*key), place);
  if (!is_new) {
    return broken(place.line,
                  fmt::format("{} of `{}` for the second time", kind_.things, printable(*key)));
  }
  return on_line ? on_line(entry->first, {line, place.line}) : Expected<void>();
}

Expected<void> SideFile::check_schema(std::string_view line) const {
  const auto json = json_->read(line);
  const auto schema = json ? member(*json, schema_word(kind_)) : std::nullopt;
  if (!schema) {
    const bool is_older = json && member(*json, "schema");
    return broken(1, is_older
                         ? fmt::format("{} in the format of an older instr_bench", kind_.things)
                         : fmt::format("this is not a file of instr_bench with {}", kind_.things));
  }
  if (value_as<int>(*schema) == kind_.schema) return {};
  return broken(1,
                fmt::format("{} of schema {}; this instr_bench reads {}", kind_.things,
                            printable(json_text(*schema)), kind_.schema),
                "use the instr_bench that wrote it, or measure again with this one");
}

Expected<void> SideFile::take_end(std::string_view line, int number) {
  const auto json = json_->read(line);
  is_complete_ = json && parse_end_line(*json) == places_.size();
  if (is_complete_) return {};
  return broken(number, fmt::format("this end line does not match the {} of {} measurements",
                                    kind_.things, places_.size()));
}

Expected<void> SideFile::take_names(std::string_view line, int number) {
  const auto unreadable_names = [&] {
    return broken(number, "these names of functions cannot be read");
  };
  const auto json = json_->read(line);
  const auto first = json ? member(*json, "first") : std::nullopt;
  if (!first || !member(*json, "names")) return unreadable_names();
  if (value_as<std::uint64_t>(*first) != names_.size()) {
    return broken(number, fmt::format("names of functions are missing: these are numbered from {}, "
                                      "those before end at {}",
                                      printable(json_text(*first)), names_.size()));
  }
  if (!member(*json, "names")->is_array()) return unreadable_names();
  const auto names = items_of(*json, "names");
  if (names_.size() + names.size() > limits_.names) {
    return broken(number, "unreasonably many names of functions");
  }
  for (const JsonValue name : names) {
    const auto parts = items_of(name);
    if (parts.size() != 2 || !parts[0].is_string() || !parts[1].is_string()) {
      return unreadable_names();
    }
    names_.push_back({std::string(*value_as<std::string_view>(parts[0])),
                      std::string(*value_as<std::string_view>(parts[1]))});
  }
  return {};
}

Expected<std::shared_ptr<SideFile>> read_side_file(const fs::path& file, const SideKind& kind) {
  std::error_code error;
  // Links are followed, as the writer does.
  const fs::path real = fs::canonical(file, error);
  const fs::path path = side_path(error ? file : real, kind);
  if (!fs::exists(path, error)) return nullptr;
  return read_file(path, kMaxResultsBytes).map([&](std::string&& bytes) {
    return std::make_shared<SideFile>(kind, std::move(bytes), path.string(), SideLimits{});
  });
}

std::string end_line(std::size_t measurements, const std::vector<std::string>& strangers) {
  std::string end = "{\"end\":{\"measurements\":" + std::to_string(measurements);
  if (!strangers.empty()) {
    end += ",\"not_of_commit\":" + to_line(nlohmann::ordered_json(strangers));
  }
  return end + "}}";
}

std::optional<std::size_t> parse_end_line(JsonValue line) {
  const auto end = member(line, "end");
  if (!end || members_of(line).size() != 1) return std::nullopt;
  return member_as<std::uint64_t>(*end, "measurements");
}

}  // namespace instr
