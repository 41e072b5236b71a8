#include "core/results/profiles_file.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "core/base/format.h"
#include "core/base/gzip.h"
#include "core/base/read_file.h"
#include "core/results/json_reader.h"
#include "core/results/profile_json.h"

namespace instr {

namespace {

constexpr int kProfilesSchema = 1;

// Limits beyond any real file, since a small one may decompress to any size. A measurement has some
// kilobytes, but a recompressed file is a single member.
constexpr std::size_t kMaxMemberBytes = std::size_t{128} << 20;
constexpr std::size_t kMaxNames = 1'000'000;

// Keeps the compressed file, its names and the position of each key; a measurement is decompressed
// and parsed on demand.
class ProfilesFile {
 public:
  // `file`: the results; `path`: their profiles.
  ProfilesFile(fs::path file, fs::path path) : file_(std::move(file)), path_(std::move(path)) {}

  // Reads the names and finds the measurements; without this call, there are none.
  Expected<void> index(std::string bytes, const Results& results, Incomplete incomplete);

  Expected<std::vector<FunctionCost>> functions(const std::string& key);
  Expected<std::shared_ptr<const CallTree>> call_tree(const std::string& key);
  Expected<std::shared_ptr<const LineCosts>> lines(const std::string& key);
  Expected<std::vector<DeviceEvent>> device_events(const std::string& key);

 private:
  struct Place {
    std::size_t member = 0;  // the byte of the file where its gzip member begins
    std::size_t begin = 0;   // the byte of the member's text
    std::size_t size = 0;
    int line = 0;  // the line of the whole file, from 1
  };

  Expected<void> take_line(std::string_view text, const Place& place, const std::string& header);
  Expected<void> take_names(JsonValue json, int line);
  Expected<void> take_measurement(JsonValue json, const Place& place);
  Expected<void> check_sum(const std::string& key, const char* parts, const CostSum& sum) const;

  // Parses a measurement's line, valid until the next call; nothing if there is none.
  Expected<std::optional<JsonValue>> find_line(const std::string& key);
  std::optional<ProfileName> find_name(std::uint64_t number) const;

  tl::unexpected<Error> broken(int line, std::string what, std::string advice = "") const;
  tl::unexpected<Error> unreadable(int line) const {
    return broken(line, "this line of the profiles cannot be read");
  }

  fs::path file_;
  fs::path path_;
  std::string packed_;
  std::vector<ProfileName> names_;
  std::unordered_map<std::string, Place> places_;
  std::unordered_map<std::string, double> counts_;  // instructions, by key
  bool is_complete_ = false;
  JsonReader json_;
  std::string unpacked_;  // the member at `unpacked_at_`
  std::optional<std::size_t> unpacked_at_;
};

Expected<void> ProfilesFile::index(std::string bytes, const Results& results,
                                   Incomplete incomplete) {
  packed_ = std::move(bytes);
  for (const Measurement& measurement : results.measurements) {
    const auto ir = find_metric_of(measurement, kInstructions);
    if (ir) counts_[measurement.variant.key] = *ir;
  }
  int line = 0;
  for (std::size_t at = 0; at < packed_.size();) {
    const auto member = gunzip_member(packed_, at, kMaxMemberBytes);
    if (!member) return broken(line + 1, member.error().what);
    const std::string_view text = member->text;
    std::size_t begin = 0;
    // The rest without a newline is of a truncated member.
    for (std::size_t end; (end = text.find('\n', begin)) != text.npos; begin = end + 1) {
      const std::size_t size = end - begin;
      TRY(take_line(text.substr(begin, size), {at, begin, size, ++line}, results.header_line));
    }
    at = member->end;
  }
  if (line < 2) return broken(line, "truncated before its first measurement");
  if (is_complete_ || incomplete == Incomplete::kAllowed) return {};
  return broken(line, "these profiles are truncated");
}

Expected<void> ProfilesFile::take_line(std::string_view text, const Place& place,
                                       const std::string& header) {
  if (place.line == 2) {
    if (text == header) return {};
    return broken(2, "these profiles do not belong to the results beside them");
  }
  const auto json = json_.read(text);
  if (place.line == 1) {
    const auto schema = json ? member_as<int>(*json, "profiles_schema") : std::nullopt;
    if (!schema) return broken(1, "this is not a file of instr_bench with profiles");
    if (*schema == kProfilesSchema) return {};
    return broken(
        1,
        fmt::format("profiles of schema {}; this instr_bench reads {}", *schema, kProfilesSchema),
        "use the instr_bench that wrote it, or measure again with this one");
  }
  if (!json) return unreadable(place.line);
  if (member(*json, "names")) return take_names(*json, place.line);
  if (member(*json, "key")) return take_measurement(*json, place);
  const auto count = parse_end_line(*json);
  if (!count) return unreadable(place.line);
  is_complete_ = *count == places_.size();
  if (is_complete_) return {};
  return broken(place.line, fmt::format("the end line says {} measurements, and there are {}",
                                        *count, places_.size()));
}

Expected<void> ProfilesFile::take_names(JsonValue json, int line) {
  const auto names = items_of(json, "names");
  if (member_as<std::uint64_t>(json, "first") != names_.size()) return unreadable(line);
  if (names_.size() + names.size() > kMaxNames) return unreadable(line);
  for (const JsonValue name : names) {
    const auto parts = read_values<std::string_view>(name);
    if (!parts || parts->size() != 2) return unreadable(line);
    names_.push_back({std::string((*parts)[0]), std::string((*parts)[1])});
  }
  return {};
}

Expected<void> ProfilesFile::take_measurement(JsonValue json, const Place& place) {
  const std::string key(member_as<std::string_view>(json, "key").value_or(""));
  places_.insert_or_assign(key, place);
  if (!member(json, "functions")) return {};
  const auto sum = sum_functions(json);
  return sum ? check_sum(key, "functions", *sum) : unreadable(place.line);
}

Expected<void> ProfilesFile::check_sum(const std::string& key, const char* parts,
                                       const CostSum& sum) const {
  const auto ir = counts_.find(key);
  if (ir == counts_.end()) return {};
  if (std::fabs(sum.total - ir->second) <= 1e-6 + sum.size * 1e-11) return {};
  return fail_at(file_,
                 fmt::format("`{}` has {} instructions, and its {}, in {}, have {} together",
                             printable(key), ir->second, parts, path_.string(), sum.total),
                 "one of the two was edited: measure again");
}

Expected<std::optional<JsonValue>> ProfilesFile::find_line(const std::string& key) {
  const auto entry = places_.find(key);
  if (entry == places_.end()) return std::nullopt;
  const Place& place = entry->second;
  if (unpacked_at_ != place.member) {
    TRY_ASSIGN(auto member, gunzip_member(packed_, place.member, kMaxMemberBytes));
    unpacked_ = std::move(member.text);
    unpacked_at_ = place.member;
  }
  return json_.read(std::string_view(unpacked_).substr(place.begin, place.size));
}

std::optional<ProfileName> ProfilesFile::find_name(std::uint64_t number) const {
  if (number >= names_.size()) return std::nullopt;
  return names_[number];
}

tl::unexpected<Error> ProfilesFile::broken(int line, std::string what, std::string advice) const {
  if (advice.empty()) advice = "measure again, or remove the file to go without functions";
  return fail_at({path_.string(), line}, std::move(what), std::move(advice));
}

Expected<std::vector<FunctionCost>> ProfilesFile::functions(const std::string& key) {
  TRY_ASSIGN(const auto line, find_line(key));
  if (!line) return std::vector<FunctionCost>();
  auto functions = parse_functions(*line, [this](auto number) { return find_name(number); });
  if (!functions) return unreadable(places_[key].line);
  return *std::move(functions);
}

Expected<std::shared_ptr<const CallTree>> ProfilesFile::call_tree(const std::string& key) {
  TRY_ASSIGN(const auto line, find_line(key));
  const auto json = line ? member(*line, "call_tree") : std::nullopt;
  if (!json) return nullptr;
  auto tree = parse_call_tree(*json, [this](auto number) { return find_name(number); });
  if (!tree) return unreadable(places_[key].line);
  const double total = tree->per_iteration(tree->nodes[0].total);
  TRY(check_sum(key, "call paths", {total, std::fabs(total)}));
  return tree;
}

Expected<std::shared_ptr<const LineCosts>> ProfilesFile::lines(const std::string& key) {
  TRY_ASSIGN(const auto line, find_line(key));
  const auto json = line ? member(*line, "lines") : std::nullopt;
  if (!json) return nullptr;
  auto costs = parse_line_costs(*json, [this](auto number) { return find_name(number); });
  if (!costs) return unreadable(places_[key].line);
  return costs;
}

Expected<std::vector<DeviceEvent>> ProfilesFile::device_events(const std::string& key) {
  TRY_ASSIGN(const auto line, find_line(key));
  const auto json = line ? member(*line, "device_events") : std::nullopt;
  if (!json) return std::vector<DeviceEvent>();
  auto events = parse_device_events(*json);
  if (!events) return unreadable(places_[key].line);
  return *std::move(events);
}

}  // namespace

fs::path profiles_path(const fs::path& file) {
  fs::path path = file;
  path += ".profiles.jsonl.gz";
  return path;
}

std::string ProfilesFormatter::start(std::string_view header) {
  return fmt::format("{{\"profiles_schema\":{}}}\n{}\n", kProfilesSchema, header);
}

std::string ProfilesFormatter::next(const std::string& key, const Counted& counted) {
  using Json = nlohmann::ordered_json;
  Json names{{"first", numbers_.size()}, {"names", Json::array()}};
  const auto number_of = [&](const std::string& function, const std::string& object) {
    auto [entry, is_new] = numbers_.try_emplace(function + '\0' + object, numbers_.size());
    if (is_new) names["names"].push_back({function, object});
    return entry->second;
  };
  Json line{{"key", key}};
  if (!counted.functions.empty()) add_functions(line, counted.functions, number_of);
  if (counted.call_tree) line["call_tree"] = to_json(*counted.call_tree, number_of);
  if (counted.lines) line["lines"] = to_json(*counted.lines, number_of);
  if (!counted.device_events.empty()) line["device_events"] = to_json(counted.device_events);
  if (line.size() == 1) return "";
  ++measurements_;
  return (names["names"].empty() ? "" : to_line(names) + "\n") + to_line(line) + "\n";
}

Expected<ProfileReaders> read_profiles(const fs::path& file, const Results& results,
                                       Incomplete incomplete) {
  std::error_code error;
  // Links are followed, as the writer does.
  const fs::path real = fs::canonical(file, error);
  const fs::path path = profiles_path(error ? file : real);
  const auto profiles = std::make_shared<ProfilesFile>(file, path);
  if (fs::exists(path, error)) {
    TRY_ASSIGN(auto bytes, read_file(path, kMaxResultsBytes));
    TRY(profiles->index(std::move(bytes), results, incomplete));
  }
  return ProfileReaders{
      [profiles](const std::string& key) { return profiles->functions(key); },
      [profiles](const std::string& key) { return profiles->call_tree(key); },
      [profiles](const std::string& key) { return profiles->lines(key); },
      [profiles](const std::string& key) { return profiles->device_events(key); },
  };
}

}  // namespace instr
