#include "core/history/profiles.h"

#include <algorithm>
#include <unordered_set>

#include "core/base/gzip.h"
#include "core/base/read_file.h"
#include "core/results/json_reader.h"
#include "core/results/profile_json.h"
#include "core/results/results_file.h"

namespace instr {

namespace {

constexpr const char* kMalformed = "the stored functions of a step are malformed";
constexpr std::size_t kMaxBytes = std::size_t{128} << 20;

std::string pack(const nlohmann::ordered_json& json) {
  auto member = gzip_member(to_line(json));
  if (!member) throw SqlError{member.error()};
  return *std::move(member);
}

// Empty if it is damaged.
std::string unpack(const std::string& bytes) {
  return gunzip_member(bytes, 0, kMaxBytes).value_or(GzipMember()).text;
}

bool has_functions(const RecordedStep& step) {
  return step.change.before && step.series.is_exact && step.series.metric == kInstructions;
}

}  // namespace

void Profiles::write(std::int64_t series, std::int64_t commit,
                     const std::vector<FunctionCost>& functions, const CallTree* tree) {
  remove_.run(series, commit);
  if (functions.empty() && tree == nullptr) return;
  auto json = nlohmann::ordered_json::array();
  for (const FunctionCost& function : functions) {
    json.push_back({names_.find_or_add(function.function, function.object),
                    json_number(function.ir), json_number(function.calls)});
  }
  std::optional<std::string> packed_tree;
  if (tree != nullptr) {
    packed_tree = pack(to_json(*tree, [this](const std::string& name, const std::string& object) {
      return static_cast<std::size_t>(names_.find_or_add(name, object));
    }));
  }
  write_.run(series, commit, SqlBlob{pack(json)},
             packed_tree ? std::optional(SqlBlob{*packed_tree}) : std::nullopt);
}

void Profiles::copy(std::int64_t series, std::int64_t from_commit, std::int64_t to_commit) {
  copy_.run(series, from_commit, to_commit);
}

std::vector<Profiles::Cost> Profiles::unpack_costs(const std::string& bytes) const {
  return parse_stored<std::vector<Cost>>(database_, unpack(bytes), kMalformed);
}

std::shared_ptr<const CallTree> Profiles::read_call_tree(std::int64_t series, std::int64_t commit) {
  if (!read_tree_.start(series, commit).step() || read_tree_.is_null(0)) return nullptr;
  const auto find_name = [this](std::uint64_t number) -> std::optional<ProfileName> {
    if (!find_name_.start(static_cast<std::int64_t>(number)).step()) return std::nullopt;
    return ProfileName{find_name_.text(0), find_name_.text(1)};
  };
  JsonReader reader;
  const auto json = reader.read(unpack(read_tree_.text(0)));
  auto tree = json ? parse_call_tree(*json, find_name) : nullptr;
  if (!tree) database_.fail_as_damaged(kMalformed);
  return tree;
}

std::vector<FunctionCost> Profiles::read(std::int64_t series, std::int64_t commit) {
  if (!read_.start(series, commit).step()) return {};
  std::vector<FunctionCost> functions;
  for (const auto& [name, ir, calls] : unpack_costs(read_.text(0))) {
    if (!find_name_.start(name).step()) database_.fail_as_damaged(kMalformed);
    functions.push_back({find_name_.text(0), find_name_.text(1), ir, calls});
  }
  return functions;
}

void Profiles::remove_unused_names() {
  std::unordered_set<std::int64_t> used;
  for (const auto& profile : database_.rows("SELECT functions, call_tree FROM profiles")) {
    for (const auto& [name, ir, calls] : unpack_costs(profile.text(0))) used.insert(name);
    if (profile.is_null(1)) continue;
    const auto tree = parse_json(unpack(profile.text(1)));
    if (!tree || !tree->is_object() || !tree->contains("function")) {
      database_.fail_as_damaged(kMalformed);
    }
    for (const auto& name : (*tree)["function"]) {
      if (name.is_number_integer()) used.insert(name.get<std::int64_t>());
    }
  }
  std::vector<std::int64_t> unused;
  for (const auto& name : database_.rows("SELECT id FROM functions")) {
    if (!used.contains(name.integer(0))) unused.push_back(name.integer(0));
  }
  auto remove = database_.prepare("DELETE FROM functions WHERE id = ?");
  for (const auto name : unused) remove.run(name);
}

std::vector<std::int64_t> StepsTable::read_series(std::int64_t branch) {
  std::vector<std::int64_t> series;
  for (const auto& row : read_series_.start(branch)) series.push_back(row.integer(0));
  return series;
}

Steps StepsTable::read(std::int64_t series, const Timeline& timeline) {
  Steps steps;
  for (const auto& row : read_.start(series)) {
    const auto commit = row.integer(0);
    if (timeline.has(commit)) steps.push_back({timeline.place_of(commit), row.real(1)});
  }
  std::ranges::sort(steps, {}, &Step::place);
  return steps;
}

// Copies profiles to new steps before it removes the old steps that they are copied from.
void StepsTable::write(std::int64_t series, const Timeline& timeline, const Steps& before,
                       const Steps& after) {
  for (const Step& step : after) {
    if (std::ranges::find(before, step) != before.end()) continue;
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

std::optional<Attribution> StepFunctions::attribute(const RecordedStep& step) {
  if (!has_functions(step)) return std::nullopt;
  const auto series = step.series.id;
  const auto before = last_read_ == SeriesAndCommit{series, step.before_id}
                          ? std::move(last_functions_)
                          : profiles_.read(series, step.before_id);
  last_read_ = {series, step.commit_id};
  last_functions_ = profiles_.read(series, step.commit_id);
  if (before.empty() || last_functions_.empty()) return std::nullopt;
  return attributor_.attribute(before, last_functions_, *step.change.change());
}

std::shared_ptr<const AlignedTrees> StepFunctions::align_trees(const RecordedStep& step) {
  if (!has_functions(step)) return nullptr;
  const auto before = profiles_.read_call_tree(step.series.id, step.before_id);
  const auto after = profiles_.read_call_tree(step.series.id, step.commit_id);
  if (!before || !after) return nullptr;
  return std::make_shared<const AlignedTrees>(aligned(*before, *after));
}

}  // namespace instr
