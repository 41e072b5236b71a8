#include "core/history/profiles.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "core/base/gzip.h"
#include "core/base/json_line.h"
#include "core/results/call_trees_file.h"
#include "core/results/results_file.h"

namespace instr {

namespace {

constexpr std::size_t kMaxBytes = std::size_t{128} << 20;

std::string packed(const nlohmann::ordered_json& json) {
  auto member = gzip_member(to_line(json));
  if (!member) throw SqlError{member.error()};
  return *std::move(member);
}

// Empty if it is damaged.
std::string unpacked_text(const std::string& bytes) {
  return gunzip_member(bytes, 0, kMaxBytes).value_or(GzipMember()).text;
}

// Null if it is damaged.
nlohmann::ordered_json unpacked_json(const std::string& bytes) {
  return parse_json(unpacked_text(bytes)).value_or(nullptr);
}

}  // namespace

Profiles::Profiles(const SqlDatabase& database)
    : database_(database),
      names_(database, "SELECT id FROM functions WHERE name = ? AND library = ?",
             "INSERT INTO functions (name, library) VALUES (?, ?)"),
      name_of_(database.prepare("SELECT name, library FROM functions WHERE id = ?")),
      write_(database.prepare("INSERT OR REPLACE INTO profiles VALUES (?, ?, ?, ?)")),
      copy_(database.prepare("INSERT OR REPLACE INTO profiles SELECT series_id, ?3, functions,"
                             " call_tree FROM profiles WHERE series_id = ?1 AND commit_id = ?2")),
      remove_(database.prepare("DELETE FROM profiles WHERE series_id = ? AND commit_id = ?")),
      read_(
          database.prepare("SELECT functions FROM profiles WHERE series_id = ? AND commit_id = ?")),
      read_tree_(database.prepare(
          "SELECT call_tree FROM profiles WHERE series_id = ? AND commit_id = ?")) {}

void Profiles::write(std::int64_t series, std::int64_t commit,
                     const std::vector<FunctionCost>& functions, const CallTree* tree) {
  remove(series, commit);
  if (functions.empty()) return;
  auto json = nlohmann::ordered_json::array();
  for (const FunctionCost& one : functions) {
    json.push_back(
        {names_.number_of(one.function, one.object), json_number(one.ir), json_number(one.calls)});
  }
  std::optional<std::string> packed_tree;
  if (tree != nullptr) {
    packed_tree = packed(to_json(*tree, [this](const std::string& name, const std::string& object) {
      return static_cast<std::size_t>(names_.number_of(name, object));
    }));
  }
  write_.run(series, commit, SqlBlob{packed(json)},
             packed_tree ? std::optional(SqlBlob{*packed_tree}) : std::nullopt);
}

void Profiles::copy(std::int64_t series, std::int64_t from_commit, std::int64_t to_commit) {
  copy_.run(series, from_commit, to_commit);
}

void Profiles::remove(std::int64_t series, std::int64_t commit) { remove_.run(series, commit); }

std::vector<Profiles::Cost> Profiles::unpacked(const std::string& bytes) const {
  const auto json = unpacked_json(bytes);
  if (!json.is_array()) fail();
  std::vector<Cost> costs;
  for (const auto& cost : json) {
    const bool is_cost = cost.is_array() && cost.size() >= 3 && cost[0].is_number_integer() &&
                         cost[1].is_number() && cost[2].is_number();
    if (!is_cost) fail();
    costs.push_back({cost[0], cost[1], cost[2]});
  }
  return costs;
}

void Profiles::fail() const { database_.fail_as_damaged("the functions of a step are none"); }

std::shared_ptr<const CallTree> Profiles::read_call_tree(std::int64_t series, std::int64_t commit) {
  if (!read_tree_.start(series, commit).step() || read_tree_.is_null(0)) return nullptr;
  const auto name_of = [this](std::uint64_t number) -> std::optional<SideName> {
    if (!name_of_.start(static_cast<std::int64_t>(number)).step()) return std::nullopt;
    return SideName{name_of_.text(0), name_of_.text(1)};
  };
  auto tree = call_tree_from(unpacked_text(read_tree_.text(0)), name_of);
  if (!tree) fail();
  return tree;
}

std::vector<FunctionCost> Profiles::read(std::int64_t series, std::int64_t commit) {
  if (!read_.start(series, commit).step()) return {};
  std::vector<FunctionCost> functions;
  for (const Cost& cost : unpacked(read_.text(0))) {
    if (!name_of_.start(cost.name).step()) fail();
    functions.push_back({name_of_.text(0), name_of_.text(1), cost.ir, cost.calls});
  }
  return functions;
}

void Profiles::remove_unused_names() {
  std::unordered_set<std::int64_t> used;
  auto profiles = database_.prepare("SELECT functions, call_tree FROM profiles");
  while (profiles.step()) {
    for (const Cost& cost : unpacked(profiles.text(0))) used.insert(cost.name);
    if (profiles.is_null(1)) continue;
    const auto tree = unpacked_json(profiles.text(1));
    if (!tree.is_object() || !tree.contains("function")) fail();
    for (const auto& name : tree["function"]) {
      if (name.is_number_integer()) used.insert(name.get<std::int64_t>());
    }
  }
  std::vector<std::int64_t> unused;
  auto names = database_.prepare("SELECT id FROM functions");
  while (names.step()) {
    if (!used.contains(names.integer(0))) unused.push_back(names.integer(0));
  }
  auto remove = database_.prepare("DELETE FROM functions WHERE id = ?");
  for (const auto one : unused) remove.run(one);
}

StepsTable::StepsTable(const SqlDatabase& database)
    : series_of_(database.prepare("SELECT id FROM series WHERE branch_id = ? AND is_exact = 1")),
      read_(database.prepare("SELECT commit_id, value FROM steps WHERE series_id = ?")),
      put_(database.prepare("INSERT INTO steps (series_id, commit_id, value)"
                            " VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = ?3")),
      remove_(database.prepare("DELETE FROM steps WHERE series_id = ? AND commit_id = ?")),
      profiles_(database) {}

std::vector<std::int64_t> StepsTable::series_of(std::int64_t branch) {
  std::vector<std::int64_t> series;
  for (series_of_.start(branch); series_of_.step();) series.push_back(series_of_.integer(0));
  return series;
}

Steps StepsTable::read(std::int64_t series, const Timeline& timeline) {
  Steps steps;
  read_.start(series);
  while (read_.step()) {
    const auto commit = read_.integer(0);
    if (timeline.has(commit)) steps.push_back({timeline.place_of(commit), read_.real(1)});
  }
  std::sort(steps.begin(), steps.end(),
            [](const Step& left, const Step& right) { return left.place < right.place; });
  return steps;
}

// Copies functions to new steps before it removes the old steps that they are copied from.
void StepsTable::write(std::int64_t series, const Timeline& timeline, const Steps& before,
                       const Steps& after) {
  for (const Step& step : after) {
    if (std::find(before.begin(), before.end(), step) != before.end()) continue;
    const auto commit = timeline.commit_at(step.place);
    put_.run(series, commit, step.value);
    const auto held = step_at(before, step.place);
    if (held && held->place != step.place) {
      profiles_.copy(series, timeline.commit_at(held->place), commit);
    }
  }
  for (const Step& step : before) {
    const auto kept = step_at(after, step.place);
    if (!kept || kept->place != step.place) remove_.run(series, timeline.commit_at(step.place));
  }
}

namespace {

bool has_functions(const RecordedStep& step) {
  return step.before && !step.p && step.series.metric == kInstructions;
}

}  // namespace

std::optional<Attribution> StepFunctions::of(const RecordedStep& step) {
  if (!has_functions(step)) return std::nullopt;
  const Place before_place{step.series.id, step.before_id};
  const auto before = last_place_ == before_place ? std::move(last_)
                                                  : profiles_.read(step.series.id, step.before_id);
  last_place_ = {step.series.id, step.commit_id};
  last_ = profiles_.read(step.series.id, step.commit_id);
  if (before.empty() || last_.empty()) return std::nullopt;
  return attributor_.attribute(before, last_, step.after - *step.before);
}

std::shared_ptr<const AlignedTrees> StepFunctions::trees_of(const RecordedStep& step) {
  if (!has_functions(step)) return nullptr;
  const auto before = profiles_.read_call_tree(step.series.id, step.before_id);
  const auto after = profiles_.read_call_tree(step.series.id, step.commit_id);
  if (!before || !after) return nullptr;
  return std::make_shared<const AlignedTrees>(aligned(*before, *after));
}

}  // namespace instr
