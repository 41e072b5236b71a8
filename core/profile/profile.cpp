#include "core/profile/profile.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/base/read_file.h"
#include "core/base/text.h"
#include "core/profile/function_names.h"

namespace instr {

namespace {

constexpr std::size_t kMaxEvents = 64;
constexpr std::uint64_t kMaxLines = 100'000'000;  // the maximum for one file
constexpr std::string_view kUnknown = "???";
constexpr std::string_view kBlanks = " \t\r";

// Takes the next word off `rest`.
std::string_view next_word(std::string_view& rest) {
  auto begin = rest.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) {
    rest = {};
    return {};
  }
  auto end = std::min(rest.find_first_of(kBlanks, begin), rest.size());
  auto word = rest.substr(begin, end - begin);
  rest.remove_prefix(end);
  return word;
}

std::optional<std::uint64_t> number(std::string_view word) {
  int base = 10;
  if (word.starts_with("0x")) {
    base = 16;
    word.remove_prefix(2);
  }
  return parse_number<std::uint64_t>(word, base);
}

// Parses "123", "0x1f", or a position relative to `last`: "+3", "-4", "*".
std::optional<std::uint64_t> position(std::string_view word, std::uint64_t last) {
  if (word == "*") return last;
  const bool is_ahead = word.starts_with('+');
  const bool is_back = word.starts_with('-');
  if (is_ahead || is_back) word.remove_prefix(1);
  const auto by = number(word);
  if (!by || (!is_ahead && !is_back)) return by;
  return is_ahead ? last + *by : last - *by;
}

// A dictionary of the file: "(3) name" defines 3, "(3)" uses it.
class Names {
 public:
  // Returns the index of the name; nothing if `text` uses an unknown number.
  std::optional<std::size_t> resolve(std::string_view text) {
    text = trim(text, kBlanks);
    if (!text.starts_with('(')) return intern(text);
    auto close = text.find(')');
    auto id = close == std::string_view::npos ? std::nullopt : number(text.substr(1, close - 1));
    if (!id) return intern(text);  // an uncompressed "(below main)"
    auto rest = trim(text.substr(close + 1), kBlanks);
    if (!rest.empty()) return by_id_[*id] = intern(rest);
    const auto known = by_id_.find(*id);
    if (known == by_id_.end()) return std::nullopt;
    return known->second;
  }

  std::size_t intern(std::string_view name) {
    auto [entry, added] = by_name_.try_emplace(std::string(name), names_.size());
    if (added) names_.push_back(entry->first);
    return entry->second;
  }

  const std::string& at(std::size_t index) const { return names_[index]; }
  std::size_t size() const { return names_.size(); }

 private:
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::size_t> by_name_;
  std::unordered_map<std::uint64_t, std::size_t> by_id_;
};

class Parser {
 public:
  Parser(const std::string& name, ProfilePaths paths, ProfileLines lines)
      : name_(name), paths_(paths), lines_(lines) {}

  Expected<Profile> parse(std::string_view text) {
    while (!text.empty()) {
      auto end = std::min(text.find('\n'), text.size());
      ++line_;
      if (auto problem = take_line(trim(text.substr(0, end), kBlanks))) return broken(*problem);
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    if (profile_.events.empty()) return broken("it names no events");
    if (inclusive_next_ || !totals_seen_) return broken("it ends in the middle");
    name_functions();
    name_files();
    return std::move(profile_);
  }

 private:
  using Problem = std::optional<std::string>;

  tl::unexpected<Error> broken(std::string what) const {
    return fail_at({name_, line_}, "not a whole Callgrind profile: " + std::move(what),
                   "the program that wrote it may have been killed");
  }

  Problem take_line(std::string_view line) {
    if (line.empty() || line.starts_with('#')) return std::nullopt;
    char first = line.front();
    if ((first >= '0' && first <= '9') || first == '+' || first == '-' || first == '*') {
      return take_costs(line);
    }
    auto mark = line.find_first_of(":=");
    if (mark == std::string_view::npos || mark == 0) return "unknown text";
    auto key = line.substr(0, mark);
    auto value = trim(line.substr(mark + 1), kBlanks);
    return line[mark] == ':' ? take_header(key, value) : take_specification(key, value);
  }

  Problem take_header(std::string_view key, std::string_view value) {
    if (key == "events") return take_events(value);
    if (key == "totals") return take_totals(value);
    if (key == "positions") {
      positions_.clear();
      for (auto word = next_word(value); !word.empty(); word = next_word(value)) {
        positions_.push_back({word == "line"});
      }
      if (positions_.empty()) return "no positions";
    } else if (key == "part") {
      if (profile_.parts > 0 && !totals_seen_) return "a part ends in the middle";
      totals_seen_ = false;
    }
    return std::nullopt;
  }

  Problem take_events(std::string_view value) {
    std::vector<std::string> events;
    for (auto word = next_word(value); !word.empty(); word = next_word(value)) {
      events.emplace_back(word);
    }
    if (events.empty() || events.size() > kMaxEvents) return "no usable list of events";
    columns_ = events.size();
    // The time of system calls differs from run to run.
    const auto of_system_calls = std::find(events.begin(), events.end(), "sysCount");
    events.erase(of_system_calls, events.end());
    if (!profile_.events.empty() && events != profile_.events)
      return "its parts count different events";
    profile_.totals.resize(events.size());
    profile_.events = std::move(events);
    ++profile_.parts;
    totals_seen_ = false;
    return std::nullopt;
  }

  Problem take_totals(std::string_view value) {
    if (profile_.events.empty()) return "totals before events";
    if (totals_seen_) return "two totals in one part";
    totals_seen_ = true;
    return add_costs(value, profile_.totals);
  }

  // Others, such as jump=, are ignored.
  Problem take_specification(std::string_view key, std::string_view value) {
    if (key == "calls") return take_calls(value);
    if (key == "fl" || key == "fi" || key == "fe" || key == "cfi" || key == "cfl") {
      return take_file(key, value);
    }
    bool is_function = key == "fn" || key == "cfn";
    if (!is_function && key != "ob" && key != "cob") return std::nullopt;
    auto index = (is_function ? functions_ : objects_).resolve(value);
    if (!index) {
      return is_function ? "a function number that was never given a name"
                         : "an object number that was never given a name";
    }
    if (key == "cfn") callee_ = index;
    if (key == "cob") callee_object_ = index;
    if (key == "fn") function_ = index;
    if (key == "ob") object_ = *index;
    if (key == "fn" || key == "ob") current_.reset();
    return std::nullopt;
  }

  // Files share a dictionary; cfi= and cfl= are the callee's.
  Problem take_file(std::string_view key, std::string_view value) {
    if (lines_ == ProfileLines::kIgnored) return std::nullopt;
    const auto index = files_.resolve(value);
    if (!index) return "a file number that was never given a name";
    if (key.starts_with('c')) {
      callee_file_ = *index;
      return std::nullopt;
    }
    file_ = *index;
    return std::nullopt;
  }

  // "60 +3": the number of calls, and where the callee begins. Its object is the caller's unless
  // `cob` preceded.
  Problem take_calls(std::string_view value) {
    if (profile_.events.empty()) return "calls before events";
    auto count = number(next_word(value));
    if (!count) return "a bad number of calls";
    if (!callee_) return "calls of no function";
    const std::size_t callee = slot(*callee_, callee_object_.value_or(object_));
    profile_.functions[callee].calls += *count;
    if (lines_ == ProfileLines::kRead) take_target(value, profile_.functions[callee]);
    calls_.reset();
    if (function_) {
      calls_ = calls_between(current(), callee);
      profile_.calls[*calls_].count += *count;
    }
    callee_.reset();
    callee_object_.reset();
    callee_file_.reset();
    inclusive_next_ = true;
    return std::nullopt;
  }

  // Takes the position behind the number of calls, in the caller's file unless `cfi` or `cfl`
  // preceded.
  void take_target(std::string_view positions, ProfileFunction& callee) const {
    if (callee.line != 0) return;
    for (const Position& column : positions_) {
      const auto here = position(next_word(positions), column.last);
      if (!column.is_line || here.value_or(0) > kMaxLines) continue;
      callee.file = callee_file_.value_or(file_);
      callee.line = static_cast<int>(here.value_or(0));
    }
  }

  Problem take_costs(std::string_view line) {
    if (profile_.events.empty()) return "costs before events";
    std::uint64_t source_line = 0;
    for (Position& column : positions_) {
      const auto here = position(next_word(line), column.last);
      if (!here) return "a bad position";
      column.last = *here;
      if (column.is_line) source_line = *here;
    }
    // The line after `calls=` has the inclusive cost of the callee.
    const bool is_inclusive = std::exchange(inclusive_next_, false);
    if (!is_inclusive && !function_) return "costs before a function";
    if (function_ && lines_ == ProfileLines::kRead) add_line(source_line, line, is_inclusive);
    if (!is_inclusive) return add_costs(line, profile_.functions[current()].self);
    std::vector<std::uint64_t> ignored(profile_.events.size());
    return add_costs(line, calls_ ? profile_.calls[*calls_].cost : ignored);
  }

  // `costs` is checked by add_costs().
  void add_line(std::uint64_t source_line, std::string_view costs, bool is_inclusive) {
    const std::uint64_t cost = number(next_word(costs)).value_or(0);
    if (source_line > kMaxLines) source_line = 0;
    const std::size_t function = current();
    const LineKey key{function, file_, source_line};
    auto [entry, is_new] = line_slots_.try_emplace(key, profile_.lines.size());
    if (is_new) profile_.lines.push_back({function, file_, static_cast<int>(source_line)});
    ProfileLine& sum = profile_.lines[entry->second];
    (is_inclusive ? sum.called : sum.self) += cost;
  }

  // Trailing zeros may be missing.
  Problem add_costs(std::string_view words, std::vector<std::uint64_t>& sums) {
    std::size_t event = 0;
    for (auto word = next_word(words); !word.empty(); word = next_word(words)) {
      auto cost = number(word);
      if (!cost) return "a bad cost";
      if (event >= columns_) return "more costs than events";
      if (event < sums.size()) sums[event] += *cost;
      ++event;
    }
    return std::nullopt;
  }

  // Returns the place of a function of an object in Profile::functions.
  std::size_t slot(std::size_t function, std::size_t object) {
    std::uint64_t key = (std::uint64_t{function} << 32) | object;
    auto [entry, added] = slots_.try_emplace(key, keys_.size());
    if (added) {
      keys_.emplace_back(function, object);
      profile_.functions.push_back({"", "", std::vector<std::uint64_t>(profile_.events.size())});
    }
    return entry->second;
  }

  // Returns the place of the function of the next lines, which must exist.
  std::size_t current() {
    if (!current_) current_ = slot(*function_, object_);
    return *current_;
  }

  std::size_t calls_between(std::size_t caller, std::size_t callee) {
    std::uint64_t key = (std::uint64_t{caller} << 32) | callee;
    auto [entry, added] = call_slots_.try_emplace(key, profile_.calls.size());
    if (added) {
      profile_.calls.push_back(
          {caller, callee, 0, std::vector<std::uint64_t>(profile_.events.size())});
    }
    return entry->second;
  }

  void name_files() {
    for (std::size_t i = 0; lines_ == ProfileLines::kRead && i < files_.size(); ++i) {
      profile_.files.push_back(files_.at(i));
    }
  }

  void name_functions() {
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      ProfileFunction& function = profile_.functions[i];
      function.function = functions_.at(keys_[i].first);
      function.object = objects_.at(keys_[i].second);
      if (paths_ == ProfilePaths::kMerged) continue;
      const std::size_t end = path_begin(function.function);
      function.path = function.function.substr(end);
      function.function.resize(end);
    }
    if (paths_ == ProfilePaths::kSeparate) name_loop(profile_.functions);
  }

  const std::string& name_;
  const ProfilePaths paths_;
  const ProfileLines lines_;
  int line_ = 0;
  std::size_t columns_ = 0;  // the maximum number of costs in a line
  Profile profile_;
  Names functions_;
  Names objects_;
  Names files_;
  struct Position {
    bool is_line = true;
    std::uint64_t last = 0;
  };
  std::vector<Position> positions_ = std::vector<Position>(1);
  bool totals_seen_ = false;
  bool inclusive_next_ = false;
  std::optional<std::size_t> function_;
  std::size_t object_ = objects_.intern(kUnknown);
  std::size_t file_ = files_.intern(kUnknown);  // the file of the next costs
  std::optional<std::size_t> current_;  // gets the self costs; nothing after a change of fn or ob
  std::optional<std::size_t> calls_;    // the calls just read, which get the next cost
  std::optional<std::size_t> callee_;   // the callee of the next calls
  std::optional<std::size_t> callee_object_;
  std::optional<std::size_t> callee_file_;
  std::unordered_map<std::uint64_t, std::size_t> slots_;
  std::unordered_map<std::uint64_t, std::size_t> call_slots_;
  using LineKey = std::tuple<std::size_t, std::size_t, std::uint64_t>;  // function, file, line
  std::map<LineKey, std::size_t> line_slots_;
  std::vector<std::pair<std::size_t, std::size_t>> keys_;
};

}  // namespace

std::optional<std::size_t> Profile::find_event(std::string_view event) const {
  const auto it = std::find(events.begin(), events.end(), event);
  if (it == events.end()) return std::nullopt;
  return static_cast<std::size_t>(it - events.begin());
}

std::size_t path_begin(std::string_view name) {
  const std::size_t mark = name.find('\'');
  if (mark == std::string_view::npos) return name.size();
  const std::size_t after = std::min(name.find_first_not_of("0123456789", mark + 1), name.size());
  const bool is_level = after > mark + 1 && (after == name.size() || name[after] == '\'');
  return is_level ? after : mark;
}

Expected<Profile> parse_profile(std::string_view text, const std::string& name, ProfilePaths paths,
                                ProfileLines lines) {
  return Parser(name, paths, lines).parse(text);
}

Expected<Profile> read_profile(const std::filesystem::path& path, ProfilePaths paths,
                               ProfileLines lines) {
  return read_file(path, kMaxResultsBytes).and_then([&](const std::string& text) {
    return parse_profile(text, path.string(), paths, lines);
  });
}

namespace {

// Returns the function at the end of a path, which has no caller; "" without a path.
std::string_view root_of(std::string_view path) { return path.substr(path.rfind('\'') + 1); }

// Returns the function without caller that has the greatest inclusive cost; "" if all are 0.
std::string greatest_root(const std::vector<ProfileFunction>& functions) {
  std::unordered_map<std::string_view, std::uint64_t> totals;
  for (const ProfileFunction& function : functions) {
    totals[function.path.empty() ? std::string_view(function.function) : root_of(function.path)] +=
        function.self[0];
  }
  std::string greatest;
  std::uint64_t max = 0;
  for (const ProfileFunction& function : functions) {
    if (!function.path.empty() || totals[function.function] <= max) continue;
    max = totals[function.function];
    greatest = function.function;
  }
  return greatest;
}

// Returns the object of the interpreter: that of its loop, or else of most functions with names as
// in its API, which extension modules have, too; "" if it is unknown.
std::string interpreter_object(const std::vector<ProfileFunction>& functions) {
  std::map<std::string, int> counts;
  for (const ProfileFunction& function : functions) {
    const std::string_view name = call_level(function.function).function;
    if (name == kInterpreterLoop) return function.object;
    if (name.starts_with("Py") || name.starts_with("_Py")) ++counts[function.object];
  }
  const auto most =
      std::ranges::max_element(counts, {}, [](const auto& each) { return each.second; });
  return most == counts.end() ? "" : most->first;
}

}  // namespace

void name_loop(std::vector<ProfileFunction>& functions) {
  const std::string wrong = greatest_root(functions);
  if (wrong.empty() || runs_loop(wrong)) return;
  const std::string object = interpreter_object(functions);
  for (ProfileFunction& function : functions) {
    const bool is_root = function.path.empty() && function.function == wrong;
    if (!is_root && root_of(function.path) != wrong) continue;
    if (!is_root) {
      function.path.replace(function.path.size() - wrong.size(), wrong.size(), kInterpreterLoop);
    }
    // A call of the function fewer is active, and a call of the loop more.
    CallLevel call = call_level(function.function);
    if (is_root) {
      call = {kInterpreterLoop};
      if (!object.empty()) function.object = object;
    } else if (call.function == wrong && call.level > 1) {
      --call.level;
    } else if (call.function == kInterpreterLoop) {
      ++call.level;
    }
    function.function = at_level(call);
  }
}

namespace {

struct Sum {
  std::uint64_t self = 0;
  std::uint64_t outermost = 0;  // the part of it in calls without recursion
  std::uint64_t called = 0;     // the cost of what these calls called
  std::optional<CodeName> caller = {};
  bool has_callers = false;  // more than one
};

void add(Sum& sum, const ProfileLine& line, const ProfileFunction& function) {
  sum.self += line.self;
  if (is_recursion(function.function)) return;
  sum.outermost += line.self;
  if (line.called == 0) return;
  sum.called += line.called;
  CodeName code = code_name(function.function, function.library());
  sum.has_callers = sum.has_callers || (sum.caller && *sum.caller != code);
  sum.caller = std::move(code);
}

}  // namespace

LineCosts line_costs(const Profile& profile, std::uint64_t iterations) {
  std::map<std::pair<std::string, int>, Sum> sums;
  for (const ProfileLine& line : profile.lines) {
    const std::string& file = profile.files[line.file];
    if (file.empty() || line.line == 0) continue;
    add(sums[{file, line.line}], line, profile.functions[line.function]);
  }
  LineCosts costs{iterations, {}};
  for (const auto& [place, sum] : sums) {
    if (sum.self == 0 && sum.called == 0) continue;
    LineCost& line = costs.lines.emplace_back(
        LineCost{place.first, place.second, static_cast<std::int64_t>(sum.self), {}});
    if (!sum.has_callers) line.inclusive = static_cast<std::int64_t>(sum.outermost + sum.called);
  }
  return costs;
}

}  // namespace instr
