#include "core/results/functions_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "core/base/format.h"
#include "core/base/gzip.h"
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
constexpr std::size_t kLeastNumbers = 3;  // of a function: its own, instructions, calls
constexpr const char* kAdvice = "measure again, or remove the file to go without functions";

std::string quoted(const std::string& text) { return to_line(Json(text)); }

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

struct Name {
  std::string function;
  std::string object;
};

// A line of a functions file.
struct Place {
  std::size_t member = 0;  // the byte of the file where its gzip member begins
  std::size_t begin = 0;   // in the member's text
  std::size_t size = 0;
  int line = 0;  // in the text of the whole file, from 1
};

// Keeps the compressed file, its names and the position of each key; a measurement is decompressed
// on demand.
class FunctionsFile {
 public:
  FunctionsFile(std::string bytes, std::string name, const FunctionLimits& limits)
      : packed_(std::move(bytes)), name_(std::move(name)), limits_(limits) {}

  // To be called first. `header`: the first line of the results file.
  Expected<void> index(const std::string& header, Incomplete incomplete) {
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
    return broken(line, "these functions are truncated");
  }

  Expected<std::vector<FunctionCost>> of(const std::string& key) {
    auto found = places_.find(key);
    if (found == places_.end()) return std::vector<FunctionCost>{};
    const Place& place = found->second;
    if (!unpacked_ || unpacked_at_ != place.member) {
      auto member = gunzip_member(packed_, place.member, limits_.member);
      if (!member) return broken(place.line, member.error().what);
      unpacked_ = std::move(member->text);
      unpacked_at_ = place.member;
    }
    return costs_from(std::string_view(*unpacked_).substr(place.begin, place.size), place.line);
  }

 private:
  tl::unexpected<Error> broken(int line, std::string what, std::string advice = "") const {
    if (advice.empty()) advice = kAdvice;
    return tl::unexpected(Error{{name_, line, 0}, std::move(what), std::move(advice)});
  }

  Expected<void> take_member(const GzipMember& member, std::size_t at, const std::string& header,
                             int& line) {
    std::string_view text = member.text;
    for (std::size_t begin = 0; begin < text.size();) {
      std::size_t end = text.find('\n', begin);
      if (end == std::string_view::npos && !member.is_whole) break;
      end = std::min(end, text.size());
      ++line;
      auto taken =
          take_line(text.substr(begin, end - begin), {at, begin, end - begin, line}, header);
      if (!taken) return taken;
      begin = end + 1;
    }
    return {};
  }

  Expected<void> take_line(std::string_view line, const Place& place, const std::string& header) {
    if (line.size() > limits_.line) return broken(place.line, "this line is unreasonably long");
    if (place.line == 1) return check_schema(line);
    if (place.line == 2) {
      if (line == header) return {};
      return broken(2, "these functions do not belong to the results beside them");
    }
    if (line.empty()) return {};
    if (is_complete_) return broken(place.line, "a line after the end of the functions");
    if (line.starts_with(kEndStart)) return take_end(parsed(line), place.line);
    if (line.starts_with(kNamesStart)) return take_names(parsed(line), place.line);
    auto key =
        line.starts_with(kKeyStart) ? string_at_start(line.substr(kKeyStart.size())) : std::nullopt;
    if (!key) return broken(place.line, "this line holds neither names nor functions");
    if (!places_.try_emplace(*key, place).second) {
      return broken(place.line, "functions of `" + printable(*key) + "` for the second time");
    }
    return {};
  }

  Expected<void> check_schema(std::string_view line) const {
    Json json = parsed(line);
    if (!json.is_object() || !json.contains("functions_schema")) {
      bool is_older = json.is_object() && json.contains("schema");
      return broken(1, is_older ? "functions in the format of an older instr_bench"
                                : "this is not a functions file of instr_bench");
    }
    const Json& schema = json["functions_schema"];
    if (schema == kFunctionsSchema) return {};
    return broken(1,
                  fmt::format("functions of schema {}; this instr_bench reads {}",
                              printable(to_line(schema)), kFunctionsSchema),
                  "use the instr_bench that wrote it, or measure again with this one");
  }

  Expected<void> take_end(const Json& json, int line) {
    const auto measurements = measurements_at_end(json);
    is_complete_ = measurements == places_.size();
    if (is_complete_) return {};
    return broken(line, fmt::format("this end line does not match the functions of {} measurements",
                                    places_.size()));
  }

  Expected<void> take_names(const Json& json, int line) {
    auto unreadable = [&] { return broken(line, "these names of functions cannot be read"); };
    if (!json.is_object() || !json.contains("names")) return unreadable();
    if (json["first"] != names_.size()) {
      return broken(line, fmt::format("names of functions are missing: these are numbered from {}, "
                                      "those before end at {}",
                                      printable(to_line(json["first"])), names_.size()));
    }
    if (names_.size() + json["names"].size() > limits_.names) {
      return broken(line, "unreasonably many names of functions");
    }
    for (const Json& name : json["names"]) {
      bool is_name =
          name.is_array() && name.size() == 2 && name[0].is_string() && name[1].is_string();
      if (!is_name) return unreadable();
      names_.push_back({name[0].get<std::string>(), name[1].get<std::string>()});
    }
    return {};
  }

  Expected<std::vector<FunctionCost>> costs_from(std::string_view text, int line) const {
    Json json = parsed(text);
    if (!json.is_object() || !json.contains("functions") || !json["functions"].is_array()) {
      return broken(line, "these functions cannot be read");
    }
    std::vector<std::string> events;
    if (json.contains("events") && json["events"].is_array()) {
      for (const Json& event : json["events"]) {
        if (!event.is_string()) return broken(line, "these functions cannot be read");
        events.push_back(event.get<std::string>());
      }
    }
    std::vector<FunctionCost> costs;
    for (const Json& cost : json["functions"]) {
      // Further numbers are from a later version.
      std::size_t known = std::min(cost.size(), kLeastNumbers + events.size());
      bool is_cost = cost.is_array() && known >= kLeastNumbers && cost[0].is_number_unsigned();
      for (std::size_t i = 1; is_cost && i < known; ++i) is_cost = cost[i].is_number();
      if (!is_cost) return broken(line, "these functions cannot be read");
      auto number = cost[0].get<std::uint64_t>();
      if (number >= names_.size()) {
        return broken(line, fmt::format("function number {} has no name", number));
      }
      const Name& name = names_[number];
      costs.push_back({name.function, name.object, cost[1].get<double>(), cost[2].get<double>()});
      for (std::size_t i = kLeastNumbers; i < known; ++i) {
        if (auto count = cost[i].get<double>(); count != 0) {
          costs.back().events[events[i - kLeastNumbers]] = count;
        }
      }
    }
    return costs;
  }

  std::string packed_;
  std::string name_;
  FunctionLimits limits_;
  std::vector<Name> names_;
  std::unordered_map<std::string, Place> places_;
  bool is_complete_ = false;
  std::optional<std::string> unpacked_;  // the member at `unpacked_at_`
  std::size_t unpacked_at_ = 0;
};

}  // namespace

fs::path functions_path(const fs::path& file) {
  fs::path path = file;
  path += ".functions.jsonl.gz";
  return path;
}

std::string FunctionLines::start(std::string_view header) {
  return fmt::format("{{\"functions_schema\":{}}}\n{}\n", kFunctionsSchema, header);
}

namespace {

// The events that any of the functions has.
std::vector<std::string> events_of(const std::vector<FunctionCost>& functions) {
  std::set<std::string> events;
  for (const FunctionCost& one : functions) {
    for (const auto& [name, count] : one.events) events.insert(name);
  }
  return {events.begin(), events.end()};
}

// ",310,0,0.5"
std::string events_text(const FunctionCost& cost, const std::vector<std::string>& events) {
  std::string text;
  std::string zeros;
  for (const std::string& event : events) {
    auto found = cost.events.find(event);
    if (found == cost.events.end() || found->second == 0) {
      zeros += ",0";
    } else {
      text += std::exchange(zeros, "") + fmt::format(",{}", found->second);
    }
  }
  return text;
}

}  // namespace

std::string FunctionLines::next(const std::string& key,
                                const std::vector<FunctionCost>& functions) {
  const std::size_t first = numbers_.size();
  const std::vector<std::string> events = events_of(functions);
  std::string names;
  std::string costs;
  for (const FunctionCost& cost : functions) {
    auto [entry, is_new] =
        numbers_.try_emplace(cost.function + '\0' + cost.object, numbers_.size());
    if (is_new) {
      names += fmt::format("{}[{},{}]", names.empty() ? "" : ",", quoted(cost.function),
                           quoted(cost.object));
    }
    costs += fmt::format("{}[{},{},{}{}]", costs.empty() ? "" : ",", entry->second, cost.ir,
                         cost.calls, events_text(cost, events));
  }
  ++measurements_;
  std::string lines;
  if (!names.empty()) lines = fmt::format("{}{},\"names\":[{}]}}\n", kNamesStart, first, names);
  std::string named = events.empty() ? "" : "\"events\":" + to_line(Json(events)) + ",";
  return lines + fmt::format("{{\"key\":{},{}\"functions\":[{}]}}\n", quoted(key), named, costs);
}

double total_of(const std::vector<FunctionCost>& functions) {
  double sum = 0;
  for (const FunctionCost& one : functions) sum += one.ir;
  return sum;
}

bool is_sum_of(double ir, const std::vector<FunctionCost>& functions) {
  double size = 0;
  for (const FunctionCost& one : functions) size += std::fabs(one.ir);
  return std::fabs(total_of(functions) - ir) <= 1e-6 + size * 1e-11;
}

std::string FunctionLines::end() const { return end_line(measurements_) + "\n"; }

Expected<FunctionsOf> open_functions(const fs::path& file, const std::string& header,
                                     Incomplete incomplete) {
  std::error_code error;
  // The writer also follows links.
  fs::path real = fs::canonical(file, error);
  fs::path path = functions_path(error ? file : real);
  if (!fs::exists(path, error)) {
    return [](const std::string&) { return std::vector<FunctionCost>{}; };
  }
  return read_file(path, kMostResults).and_then([&](std::string&& bytes) {
    return parse_functions(std::move(bytes), header, path.string(), incomplete);
  });
}

Expected<FunctionsOf> parse_functions(std::string bytes, const std::string& header,
                                      const std::string& name, Incomplete incomplete,
                                      const FunctionLimits& limits) {
  auto file = std::make_shared<FunctionsFile>(std::move(bytes), name, limits);
  auto indexed = file->index(header, incomplete);
  if (!indexed) return tl::unexpected(indexed.error());
  return [file](const std::string& key) { return file->of(key); };
}

}  // namespace instr
